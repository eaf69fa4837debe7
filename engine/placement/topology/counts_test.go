package topology

import "testing"

// The domain from which pods are taken out may become the one with the fewest.
func TestTakingPodsOutLowersTheLeastOfASpread(t *testing.T) {
	l := NewDomainCounts(&Rule{Kind: Spread, MaxSkew: 1})
	a, b := l.At("a"), l.At("b")
	for _, d := range []int{a, b} {
		l.Know(d)
		l.Record(d, Part{Selected: true}, 3)
	}
	l.Record(b, Part{Selected: true}, 1)
	if n := l.Objections(a, true); n != 0 {
		t.Fatalf("a has 3 and b 4: %d object to one more in a", n)
	}
	l.Record(b, Part{Selected: true}, -2)
	if n := l.Objections(a, true); n != 1 {
		t.Errorf("a has 3 and b 2: %d object to one more in a, want 1", n)
	}
}
