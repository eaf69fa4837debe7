package lifecycle

import (
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/nomination"
)

// Claims that are kept no longer are served together, those first of which nominations keep most.
func TestNodesThatAreKeptNoLongerOpenTogether(t *testing.T) {
	r := looptest.New(t)
	h := newHolds()
	kept := nomination.Hold{Until: looptest.Noon.Add(time.Minute)}
	h.next(map[string]nomination.Hold{"a": kept, "b": kept, "c": kept, "d": kept})
	h.next(map[string]nomination.Hold{"a": {Free: 1}, "b": {Free: 0.5}, "c": kept, "d": {}, "e": {}})
	var got []string
	for len(h.released) > 0 {
		got = append(got, (<-h.released).Object.Name)
	}
	if want := []string{"d", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("served are %v, want %v", got, want)
	}
	// The one that asks is released with the others, not before them.
	if got, again, known := h.of(r.Clock, r.Deps.Store, "c", &corev1.Node{}); !known || got.Until != kept.Until || again != holdPoll {
		t.Errorf("c is not kept until it is served: %+v, to be asked again after %s", got, again)
	}
	// What was worked out serves until the next look, and what was not known then waits for that.
	h.next(map[string]nomination.Hold{"c": kept})
	if got, _, known := h.of(r.Clock, r.Deps.Store, "c", &corev1.Node{}); !known || got.Until != kept.Until {
		t.Errorf("the hold of c is %+v", got)
	}
	if got, _, known := h.of(r.Clock, r.Deps.Store, "f", &corev1.Node{}); known {
		t.Errorf("the hold of a claim that has just joined is %+v", got)
	}
	r.Clock.Step(holdPoll)
	if got, _, known := h.of(r.Clock, r.Deps.Store, "f", &corev1.Node{}); !known || !got.Until.IsZero() || len(h.holds) > 0 {
		t.Errorf("the hold of a claim without a Node is %+v, of all %+v", got, h.holds)
	}
}

// slow is a clock by which everything takes a second.
type slow struct{ clock.PassiveClock }

func (slow) Since(time.Time) time.Duration { return time.Second }

// What takes long is worked out more seldom: it takes a tenth of the time.
func TestHoldsServeTenTimesAsLongAsTheyTook(t *testing.T) {
	r, h := looptest.New(t), newHolds()
	for _, step := range []struct {
		after time.Duration
		known bool
	}{{0, true}, {9 * time.Second, false}, {time.Second, true}} {
		r.Clock.Step(step.after)
		if _, _, known := h.of(slow{r.Clock}, r.Deps.Store, "a", &corev1.Node{}); known != step.known {
			t.Errorf("%s later it is worked out: %v", step.after, known)
		}
	}
}

// However many are kept, they ask as often as a few.
func TestHoldsAreAskedForAsOftenByManyAsByFew(t *testing.T) {
	h := newHolds()
	for i := 0; i < 800; i += 50 {
		h.holds = map[string]nomination.Hold{}
		for j := range i {
			h.holds[strconv.Itoa(j)] = nomination.Hold{}
		}
		if perSecond := float64(i) / h.again().Seconds(); perSecond > 40 {
			t.Fatalf("%d claims ask %.0f times a second", i, perSecond)
		}
	}
}
