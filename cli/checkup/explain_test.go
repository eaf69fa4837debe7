package checkup_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/cli/checkup"
	"github.com/millwright-dev/millwright/doctor"
)

func TestExplainWithoutACheckListsAllWithTheirTitles(t *testing.T) {
	var out bytes.Buffer
	cmd := checkup.ExplainCommand(&out)
	cmd.SetArgs([]string{})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(doctor.Checks()) {
		t.Fatalf("%d lines for %d checks", len(lines), len(doctor.Checks()))
	}
	for i, check := range doctor.Checks() {
		if name, title, _ := strings.Cut(lines[i], " "); name != check || strings.TrimSpace(title) == "" {
			t.Errorf("of %s it says %q", check, lines[i])
		}
	}
}
