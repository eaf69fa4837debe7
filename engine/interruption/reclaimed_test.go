package interruption_test

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/interruption"
)

func TestAnOfferingRestsTwiceAsLongEachTimeItIsReclaimed(t *testing.T) {
	k := catalog.Key{Type: "m", Zone: "a", CapacityType: "spot"}
	r, now := interruption.Risks{}, start
	for i, want := range []time.Duration{3, 6, 12, 24, 48, 60, 60} {
		if rest := r.Note(k, now).Sub(now); rest != want*time.Minute {
			t.Errorf("time %d: rests %s, want %s", i+1, rest, want*time.Minute)
		}
		if again := r.Note(k, now.Add(time.Second)); !again.Equal(r[k].Until) || r[k].Times != i+1 {
			t.Errorf("what rests was noted again: %v", r[k])
		}
		now = r[k].Until
	}
	now = now.Add(time.Hour + time.Second)
	if rest := r.Note(k, now).Sub(now); rest != interruption.Risky {
		t.Errorf("after an hour without: rests %s", rest)
	}
}
