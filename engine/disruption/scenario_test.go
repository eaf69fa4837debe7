package disruption

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/internal/golden"
)

// Each file in testdata is prose, a cluster, a line of dashes and the decision.
// A cluster is one object a line, with the words that worlds.add understands;
// times are how long ago something was, at noon, and clock is how much later it is now.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			for i, part := range strings.Split(string(text), "\n====\n") {
				if i > 0 {
					out.WriteString("====\n")
				}
				input, _, _ := strings.Cut(part, "----\n")
				fmt.Fprintf(&out, "%s----\n%s", input, decide(t, input))
			}
			golden.Compare(t, file, out.String())
		})
	}
}

func decide(t *testing.T, input string) string {
	t.Helper()
	opts := Options{
		TerminateFirstDrift: strings.Contains(input, "gate TerminateFirstDrift\n"),
		PodDeletionCosts:    strings.Contains(input, "gate PodDeletionCostManagement\n"),
	}
	d, again := Decide(build(t, input), opts), Decide(build(t, input), opts)
	var first, second bytes.Buffer
	if err := d.Table(&first); err != nil {
		t.Fatal(err)
	}
	if err := again.Table(&second); err != nil || second.String() != first.String() {
		t.Errorf("the same cluster gave another decision:\n%s", second.String())
	}
	return first.String()
}

func TestALastLookFindsWhateverCameBetween(t *testing.T) {
	const quiet = "pool p after=0s\nnode a pool=p tainted marked=1m"
	d := Decide(build(t, quiet), Options{})
	if len(d.Commands) != 1 || d.Commands[0].Step != Remove {
		t.Fatalf("commands: %+v", d.Commands)
	}
	for live, want := range map[string]plan.Code{
		quiet:                                    "",
		quiet + "\npod x/a on=a":                 plan.HasPods,
		quiet + "\npod x/a on=a of=DaemonSet":    "",
		quiet + "\npod x/a on=a phase=Succeeded": "",
		quiet + "\npod x/a on=a of=Node do-not-disrupt=true": plan.DoNotDisrupt,
		quiet + " protected":                               plan.DoNotDisrupt,
		quiet + " deleted=1s":                              plan.BeingDeleted,
		quiet + " waits=Initialized":                       plan.NotInitialized,
		quiet + " event=0s":                                "",
		"pool p after=0s\nnode a pool=p marked=1m":         plan.Disrupting,
		"pool p after=0s\nnode a pool=p tainted":           plan.Disrupting,
		"pool p after=0s\nnode a pool=p tainted marked=1s": plan.Disrupting,
	} {
		if reason, stays := d.Still(d.Commands[0], build(t, live).Nodes[0]); stays != (want != "") || stays && reason.Code != want {
			t.Errorf("%q: stays %t because %s, want %q", live, stays, reason.Code, want)
		}
	}
}
