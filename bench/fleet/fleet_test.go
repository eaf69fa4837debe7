package fleet

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
)

func TestEC2HasPlainFamiliesOnDemand(t *testing.T) {
	types, err := EC2()
	if err != nil {
		t.Fatal(err)
	}
	archs := map[string]int{}
	for _, typ := range types {
		if c := typ.Name[0]; c != 'm' && c != 'c' && c != 'r' {
			t.Errorf("type %s is of another family", typ.Name)
		}
		if len(typ.Offerings) != 3 {
			t.Errorf("type %s has %d offerings, want one per zone", typ.Name, len(typ.Offerings))
		}
		for _, o := range typ.Offerings {
			if o.CapacityType != catalog.OnDemand || o.Price <= 0 {
				t.Errorf("type %s: offering %+v", typ.Name, o)
			}
		}
		archs[typ.Requirements.Get(corev1.LabelArchStable).Values()[0]]++
	}
	if len(types) < 600 || archs["amd64"] < 200 || archs["arm64"] < 100 {
		t.Errorf("%d types, %v", len(types), archs)
	}
}

func TestTheSharedCatalogueIsNotTouched(t *testing.T) {
	first, err := EC2()
	if err != nil {
		t.Fatal(err)
	}
	UpTo(first, 4)
	again, err := EC2()
	if err != nil || len(again) != len(first) || again[0].Name != first[0].Name {
		t.Errorf("%d types, then %d (%v)", len(first), len(again), err)
	}
}
