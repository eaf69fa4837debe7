package supply

import (
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/vector"
)

func TestTheCacheKeepsWhatIsInUseAndForgetsGarbage(t *testing.T) {
	var c Cache
	used := []*catalog.Type{{Name: "used"}}
	known := c.inventory(used)
	for range 10 {
		c.inventory([]*catalog.Type{{Name: "refused"}})
	}
	runtime.GC()
	c.inventory([]*catalog.Type{{Name: "new"}})
	if len(c.made) != 2 {
		t.Errorf("%d lists are kept, want 2: that in use, and the new one", len(c.made))
	}
	if c.inventory(used) != known {
		t.Error("what was found out about a list in use was forgotten")
	}
}

// What-ifs about pods of different resources take turns.
func TestWhatCanBeRequestedIsKeptInSeveralSetsOfDimensions(t *testing.T) {
	v := newInventory([]*catalog.Type{{Name: "m"}})
	in := func(names ...corev1.ResourceName) *Supply {
		return &Supply{Batch: &demand.Batch{Dims: vector.New(names)}}
	}
	few, more := in(corev1.ResourceCPU), in(corev1.ResourceCPU, corev1.ResourceEphemeralStorage)
	first := v.requestable(few)
	if n := len(v.requestable(more)[0]); n != 2 {
		t.Errorf("%d dimensions, want 2", n)
	}
	if again := v.requestable(few); &again[0] != &first[0] {
		t.Error("it was worked out anew")
	}
}
