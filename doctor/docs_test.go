package doctor_test

import (
	"os"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/doctor"
)

func TestEveryCheckIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range doctor.Checks() {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("docs/doctor.md has no row for %s", name)
		}
	}
}
