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

func TestEveryCheckIsExplained(t *testing.T) {
	for _, name := range doctor.Checks() {
		title, text, ok := doctor.Explain(name)
		if !ok || !strings.HasSuffix(title, ".") || !strings.Contains(text, "\n\nMend it by") && !strings.Contains(text, "\n\nMend it with") {
			t.Errorf("%s: %q", name, title)
		}
	}
	if _, _, ok := doctor.Explain("no-such-check"); ok {
		t.Error("there is an explanation of nothing")
	}
}
