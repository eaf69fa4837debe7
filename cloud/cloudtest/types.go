package cloudtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
)

func typesAreOrdered(t *testing.T, c Cloud) {
	types := c.types(t)
	if !slices.IsSortedFunc(types, func(a, b *catalog.Type) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("types are not sorted by name")
	}
	again := c.types(t)
	for i, typ := range types {
		if i > 0 && types[i-1].Name == typ.Name {
			t.Errorf("type %s is listed twice", typ.Name)
		}
		if len(typ.Offerings) == 0 {
			t.Errorf("type %s has no offerings", typ.Name)
		}
		seen := map[string]bool{}
		for j, o := range typ.Offerings {
			if id := fmt.Sprint(o.Zone, o.CapacityType, o.Labels); seen[id] {
				t.Errorf("type %s offers %s twice", typ.Name, id)
			} else {
				seen[id] = true
			}
			if o.Price < 0 || o.Key("") != again[i].Offerings[j].Key("") {
				t.Errorf("type %s: offering %d is %+v, then %+v", typ.Name, j, o, again[i].Offerings[j])
			}
		}
		for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
			if _, ok := typ.Capacity[resource]; !ok {
				t.Errorf("type %s has no capacity of %s", typ.Name, resource)
			}
		}
	}
}

func typesDefineLabels(t *testing.T, c Cloud) {
	keys := append([]string{
		corev1.LabelInstanceTypeStable, corev1.LabelArchStable, corev1.LabelOSStable,
		corev1.LabelTopologyZone, catalog.CapacityTypeLabel,
	}, c.WellKnown...)
	for _, typ := range c.types(t) {
		for _, key := range keys {
			if _, ok := typ.Requirements.Lookup(key); !ok {
				t.Errorf("type %s says nothing on %s", typ.Name, key)
			}
		}
		if got := typ.Requirements.Get(corev1.LabelInstanceTypeStable); !slices.Equal(got.Values(), []string{typ.Name}) {
			t.Errorf("type %s has %s", typ.Name, got)
		}
		for _, o := range typ.Offerings {
			if key, conflict := typ.Requirements.Conflict(o.Requirements(), nil); conflict {
				t.Errorf("type %s does not list what offering %s/%s has for %s", typ.Name, o.Zone, o.CapacityType, key)
			}
		}
	}
}

func missingClass(t *testing.T, c Cloud) {
	var notReady *cloud.ClassNotReadyError
	if _, err := c.Provider.InstanceTypes(t.Context(), c.MissingClass); !errors.As(err, &notReady) {
		t.Errorf("InstanceTypes answered %v", err)
	}
	req := c.request(t, "claim")
	req.Class = c.MissingClass
	if _, err := c.Provider.Launch(t.Context(), req); !errors.As(err, &notReady) {
		t.Errorf("Launch answered %v", err)
	}
	wantIDs(t, c.Provider)
}
