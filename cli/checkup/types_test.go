package checkup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/cli/checkup"
	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// What a pool asks for in words that name no values is counted in the catalogue of plans, and
// mended with the number that there are.
func TestMinValuesAreComparedWithTheInstanceTypesThatThereAre(t *testing.T) {
	const pool = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: wide}
spec:
  disruption: {consolidateAfter: 1m}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, m6i, nosuch], minValues: 3}
      - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["2"], minValues: 2}
`
	found := func(text string) string {
		file := filepath.Join(t.TempDir(), "pool.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o := checkup.Options{Given: checkup.Given{Files: []string{file}}}
		all, _, err := o.Examine(t.Context(), checkup.Readers{
			Manifests: manifests, Warn: t.Logf,
			Types: func() ([]*catalog.Type, error) { return classes.Load(classes.EC2) },
		}, noon, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range all {
			if f.Check == "min-values-unmet" {
				out = append(out, f.Field+": "+f.Message)
			}
		}
		return strings.Join(out, "\n")
	}
	if got := found(pool); !strings.Contains(got, "requirements[0].minValues: is 3, and the ") || !strings.Contains(got, "have 2 values of karpenter.k8s.aws/instance-family") || strings.Contains(got, "generation") {
		t.Errorf("found %s", got)
	}
	if got := found(strings.Replace(pool, "minValues: 3", "minValues: 2", 1)); got != "" {
		t.Errorf("mended, there is still %s", got)
	}
}
