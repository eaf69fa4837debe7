package simplex

import (
	"math"
	"testing"
)

func TestTheBestMixOfTwoIsFound(t *testing.T) {
	// Least 3x + 2y with 2x + y >= 8 and x + 3y >= 9: x = 3, y = 2.
	s := New([]float64{8, 9}, []float64{1, 1}, []float64{100, 100})
	columns := [][]Entry{{{0, 2}, {1, 1}}, {{0, 1}, {1, 3}}, {{0, -1}}, {{1, -1}}}
	costs := []float64{3, 2, 0, 0}
	for range 20 {
		best, at := -1e-9, -1
		for c := range columns {
			if r := s.Reduced(columns[c], costs[c]); r < best {
				best, at = r, c
			}
		}
		if at < 0 {
			break
		}
		s.Enter(at, columns[at], costs[at])
	}
	total := 0.0
	for r, name := range s.Basis {
		total += costs[max(name, 0)] * s.X[r]
	}
	if math.Abs(total-13) > 1e-6 {
		t.Errorf("the least cost is %g, want 13", total)
	}
}
