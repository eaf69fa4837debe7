package e2e

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/cli/pages"
	"github.com/millwright-dev/millwright/sandbox/stories"
)

// Each demo fails by itself where it does not go as told: a story when doctor does not name the
// failure, when that does not happen, or when the generated fix does not hold.
func TestDemosAndStoriesOfFailuresGoAsTold(t *testing.T) {
	all, err := pages.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []string
	for _, name := range stories.Names() {
		tasks = append(tasks, "make demo STORY="+name)
	}
	for _, c := range pages.Commands(all) {
		if strings.HasPrefix(c.Line, "make demo") {
			tasks = append(tasks, c.Line)
		}
	}
	slices.Sort(tasks)
	for _, task := range slices.Compact(tasks) {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			// What the task needs is built already: -o takes it as it is.
			demo := exec.CommandContext(t.Context(), "make", append([]string{"-o", "build", "-o", "sandbox"}, strings.Fields(task)[1:]...)...)
			demo.Dir = root
			if out, err := demo.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}
