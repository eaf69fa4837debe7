package finding_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/plan"
)

func TestAWordIsOneArgumentOfAShell(t *testing.T) {
	for _, text := range []string{"default", "x; id", "$(id)", "`id`", "it's", "a b", "", "-n", "a\nb", `"\`, "*", "#"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s|' "+finding.Word(text)).Output()
		if err != nil || string(out) != text+"|" {
			t.Errorf("%q is %q to a shell: %v", text, out, err)
		}
	}
}

func TestACommandHoldsNoOtherCommand(t *testing.T) {
	p := finding.Patch{Object: plan.ObjectRef{Kind: "PodDisruptionBudget", Namespace: "x; id", Name: "$(id)"}, Delete: true}
	got, err := p.Command()
	if want := "kubectl delete poddisruptionbudget '$(id)' -n 'x; id'"; err != nil || got != want {
		t.Errorf("%v: %s", err, got)
	}
	if strings.Contains(finding.Word("default"), "'") {
		t.Error("a plain name is quoted")
	}
}
