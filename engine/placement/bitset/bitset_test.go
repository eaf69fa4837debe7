package bitset

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/enginetest/property"
)

func TestASetBehavesLikeAMapOfNumbers(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "size")
		number := rapid.IntRange(0, n-1)
		a, b := New(n), New(n)
		inA, inB := map[int]bool{}, map[int]bool{}
		for _, i := range rapid.SliceOf(number).Draw(t, "a") {
			a.Add(i)
			inA[i] = true
		}
		lo, hi := number.Draw(t, "lo"), number.Draw(t, "hi")
		b.AddRange(lo, hi)
		for i := lo; i < hi; i++ {
			inB[i] = true
		}
		check(t, a, n, func(i int) bool { return inA[i] })
		check(t, b, n, func(i int) bool { return inB[i] })
		and, or, not := a.Clone(), a.Clone(), a.Clone()
		and.And(b)
		or.Or(b)
		not.AndNot(b)
		check(t, and, n, func(i int) bool { return inA[i] && inB[i] })
		check(t, or, n, func(i int) bool { return inA[i] || inB[i] })
		check(t, not, n, func(i int) bool { return inA[i] && !inB[i] })
		var within []int
		for i := range a.Within(lo, hi) {
			within = append(within, i)
		}
		if !slices.Equal(within, members(and)) {
			t.Errorf("within [%d,%d) are %v, want %v", lo, hi, within, members(and))
		}
	})
}

func check(t *rapid.T, s Set, n int, want func(int) bool) {
	t.Helper()
	count := 0
	for i := range n {
		if s.Has(i) != want(i) {
			t.Errorf("Has(%d) is %t", i, s.Has(i))
		}
		if want(i) {
			count++
		}
	}
	if got := members(s); len(got) != count || s.Len() != count || !slices.IsSorted(got) {
		t.Errorf("All yields %v, Len is %d, want %d numbers in order", got, s.Len(), count)
	}
}

func members(s Set) []int { return slices.Collect(s.All()) }
