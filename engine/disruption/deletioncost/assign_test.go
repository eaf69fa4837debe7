package deletioncost

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/enginetest/property"
)

// The costs ascend, and as many machines keep theirs as can, unless there is no room for the others.
func TestCostsAscendAndFewChange(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		has := rapid.SliceOfN(rapid.OneOf(rapid.Just(int32(0)), rapid.Int32Range(floor+1, -1), rapid.Int32Range(-5, -1)), 0, 30).Draw(t, "costs")
		list := make([]ranked, len(has))
		for i, c := range has {
			list[i].cost = c
		}
		got, before, kept := assign(list), int32(floor), 0
		for i, c := range got {
			if c <= before || c >= 0 {
				t.Fatalf("%v became %v", has, got)
			}
			before = c
			if c == has[i] {
				kept++
			}
		}
		if most := longest(has); kept < most && roomy(has) {
			t.Fatalf("%d of %v keep theirs in %v, %d can", kept, has, got, most)
		}
	})
}

// longest is how many of the costs other than zero ascend, at most.
func longest(costs []int32) int {
	most, upTo := 0, make([]int, len(costs))
	for i, c := range costs {
		if c == 0 {
			continue
		}
		upTo[i] = 1
		for j, other := range costs[:i] {
			if other != 0 && other < c {
				upTo[i] = max(upTo[i], upTo[j]+1)
			}
		}
		most = max(most, upTo[i])
	}
	return most
}

// roomy reports whether thirty machines fit between any two costs, and beside them.
func roomy(costs []int32) bool {
	for i, a := range costs {
		if a != 0 && (a-floor <= 31 || -a <= 31) {
			return false
		}
		for _, b := range costs[:i] {
			if a != 0 && b != 0 && a != b && max(a-b, b-a) <= 31 {
				return false
			}
		}
	}
	return true
}
