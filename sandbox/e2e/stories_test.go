package e2e

import (
	"os/exec"
	"testing"

	"github.com/millwright-dev/millwright/sandbox/stories"
)

// Each story fails by itself where it does not go as told: when doctor does not name the failure,
// when that does not happen, or when the generated fix does not hold.
func TestStoriesOfFailuresThatDoctorNamesGoAsTold(t *testing.T) {
	for _, name := range stories.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			demo := exec.CommandContext(t.Context(), binary("SANDBOX_BIN", "sandbox"), "demo", "--story", name, "--millwright", binary("MILLWRIGHT_BIN", "millwright"), "--root", root)
			if out, err := demo.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}
