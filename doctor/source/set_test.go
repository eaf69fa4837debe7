package source_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/source"
)

// A cluster has dropped the field, so that no command takes it out there.
func TestAFieldThatTemplatesHaveIsNotPatchedInTheCluster(t *testing.T) {
	const pool = `{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"},
		"spec": {"disruption": {"terminationGracePeriod": "1h"}, "template": {"spec": {}}}}`
	var set source.Set
	objects, err := set.Add(&source.Source{Name: "chart pools", Render: func(map[string]any) ([]client.Object, error) {
		o, err := doctor.Decode([]byte(pool), "")
		return []client.Object{o}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	found := doctor.Examine(doctor.New(objects, false))
	if err := set.Mend(found); err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.Check == "field-unknown" {
			if f.Patch != nil || !strings.HasSuffix(f.Advice, "no value of chart pools is known to do it, its templates have to") {
				t.Errorf("advice %q, patch %+v", f.Advice, f.Patch)
			}
			return
		}
	}
	t.Errorf("found %+v", found)
}
