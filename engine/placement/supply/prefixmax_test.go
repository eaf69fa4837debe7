package supply

import (
	"math/rand/v2"
	"testing"
)

// Nor is the place later or earlier than a stride in which what is needed is first reached.
func TestNoLaunchBeforeThePlaceHasRoom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		m, p := &Offerings{}, &Pool{Lo: 7, Hi: 7 + rng.IntN(300)}
		m.Overheads = []Overhead{{Need: make([]int64, 2)}}
		for range p.Hi {
			m.Launches = append(m.Launches, Launch{Kind: int32(len(m.Kinds))})
			m.Kinds = append(m.Kinds, Kind{Allocatable: []int64{rng.Int64N(100), rng.Int64N(100)}})
		}
		for range 20 {
			need := []int64{rng.Int64N(110), rng.Int64N(110)}
			from := m.From(p, need)
			if from < p.Lo || from > p.Hi {
				t.Fatalf("from %d of %d to %d", from, p.Lo, p.Hi)
			}
			for i := p.Lo; i < from; i++ {
				if m.Takes(need, &m.Launches[i]) {
					t.Errorf("%v fits launch %d, the place is %d", need, i, from)
				}
			}
			most := make([]int64, 2)
			for i := p.Lo; i < min(from+stride, p.Hi); i++ {
				for d, n := range m.Kinds[m.Launches[i].Kind].Allocatable {
					most[d] = max(most[d], n)
				}
			}
			if from < p.Hi && !reaches(most, need) {
				t.Errorf("%v is not reached by what begins at %d", need, from)
			}
		}
	}
}
