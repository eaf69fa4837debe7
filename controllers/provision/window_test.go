package provision

import (
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestAWindowClosesWhenNobodyNewHasComeOrItIsFull(t *testing.T) {
	type trigger struct {
		at  float64
		uid types.UID
	}
	start := time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)
	second := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	everyHalf := func(n int, uid func(int) types.UID) (out []trigger) {
		for i := range n {
			out = append(out, trigger{float64(i) / 2, uid(i)})
		}
		return out
	}
	every := func(n int, gap float64) (out []trigger) {
		for i := range n {
			out = append(out, trigger{float64(i) * gap, types.UID(strconv.Itoa(i))})
		}
		return out
	}
	for name, tc := range map[string]struct {
		triggers []trigger
		closes   float64
	}{
		"one pod":                        {[]trigger{{0, "a"}}, 1},
		"another prolongs it":            {[]trigger{{0, "a"}, {0.9, "b"}}, 1.9},
		"the same one does not":          {[]trigger{{0, "a"}, {0.9, "a"}}, 1},
		"the same one after another too": {[]trigger{{0, "a"}, {0.5, "b"}, {0.9, "a"}}, 1.5},
		"new pods without end":           {everyHalf(25, func(i int) types.UID { return types.UID(rune('a' + i)) }), 10},
		"a burst that pauses":            {every(200, 0.005), 199*0.005 + 1./3},
		"one that slows down":            {append(every(200, 0.005), trigger{1.3, "late"}), 1.3 + 1./3},
		"a slow burst":                   {every(30, 0.04), 29*0.04 + 0.8},
		"a burst without end":            {every(2100, 0.005), 10},
		"the same pod without end":       {everyHalf(25, func(int) types.UID { return "a" }), 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWindow(time.Second, 10*time.Second)
			for _, p := range tc.triggers {
				w.trigger(p.uid, second(p.at))
			}
			if at := w.closes(); at.Sub(second(tc.closes)).Abs() > time.Millisecond {
				t.Errorf("closes at %v, want %v s", at.Sub(start), tc.closes)
			}
		})
	}
}

func TestAClosedWindowOpensWithTheNextPokeEvenOfTheSamePod(t *testing.T) {
	w := newWindow(time.Second, 10*time.Second)
	now := time.Now()
	if !w.closes().IsZero() {
		t.Error("a new window is open")
	}
	w.trigger("a", now)
	w.close()
	if !w.closes().IsZero() {
		t.Error("a closed window is open")
	}
	if !w.trigger("a", now.Add(time.Minute)) {
		t.Error("the trigger did not open it")
	}
	if at := w.closes(); !at.Equal(now.Add(time.Minute + time.Second)) {
		t.Errorf("closes %v after its first trigger", at.Sub(now)-time.Minute)
	}
}
