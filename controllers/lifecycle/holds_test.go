package lifecycle

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/nomination"
)

// Claims that are kept no longer are served together, those first of which nominations keep most.
func TestNodesThatAreKeptNoLongerOpenTogether(t *testing.T) {
	r := looptest.New(t)
	h := newHolds()
	kept := nomination.Hold{Until: looptest.Noon.Add(time.Minute)}
	h.next(looptest.Noon, map[string]nomination.Hold{"a": kept, "b": kept, "c": kept, "d": kept})
	h.next(looptest.Noon, map[string]nomination.Hold{"a": {Free: 1}, "b": {Free: 0.5}, "c": kept, "d": {}, "e": {}})
	var got []string
	for len(h.released) > 0 {
		got = append(got, (<-h.released).Object.Name)
	}
	if want := []string{"d", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("served are %v, want %v", got, want)
	}
	// The one that asks is released with the others, not before them.
	if got := h.of(looptest.Noon.Add(lifecycle.HoldPoll), r.Deps.Store, "c", &corev1.Node{}); got.Until != kept.Until {
		t.Errorf("c is not kept until it is served: %+v", got)
	}
	h.next(looptest.Noon, map[string]nomination.Hold{"c": kept})
	// What was worked out serves until the next look; what is not known is worked out.
	if got := h.of(looptest.Noon, r.Deps.Store, "c", &corev1.Node{}); got.Until != kept.Until {
		t.Errorf("the hold of c is %+v", got)
	}
	if got := h.of(looptest.Noon, r.Deps.Store, "f", &corev1.Node{}); !got.Until.IsZero() || len(h.holds) > 0 {
		t.Errorf("the hold of a claim without a Node is %+v, of all %+v", got, h.holds)
	}
}
