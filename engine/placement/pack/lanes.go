package pack

import (
	"cmp"
	"math"
	"slices"
)

// lane is a list of items of one family whose needs point in about the same
// direction, the largest first: whoever fills a box takes the first that fits.
type lane struct {
	family *Family
	number int // of the family
	items  []int32
	// sizes are the items' sizes, descending, in shares of the reference.
	sizes []float64
	// flattest and steepest are for each dimension the least and the greatest need
	// per size of any of the items.
	flattest, steepest []float64
	// sum is what the items that are left need together.
	sum []float64
	// skip leads from a position to one at or after it that may still have items
	// left; it is shortened on the way.
	skip []int32
}

// grain is how finely items are told apart: a family has at most so many groups.
// The ratios of needs count in steps of a factor, which is doubled until that is
// so; flat dimensions have a step of their own.
type grain struct {
	groups int
	flat   float64 // in powers of two
}

var (
	// forLanes leaves flat dimensions out: a lane is in order of size.
	forLanes = grain{groups: 40, flat: math.Inf(1)}
	// forBundles includes them: where they are scarce, as on large machines with a
	// limit of pods, small items are worth more of them than large ones.
	forBundles = grain{groups: 240, flat: 0.5}
)

const firstStep = 0.25 // in powers of two

// lanesOf sorts those of the items of which something is left into lanes.
func (s *solver) lanesOf(items []int32, left []int, g grain) []lane {
	byFamily := map[int][]int32{}
	var families []int
	for _, i := range items {
		if left[i] == 0 {
			continue
		}
		f := s.p.Items[i].Family
		if byFamily[f] == nil {
			families = append(families, f)
		}
		byFamily[f] = append(byFamily[f], i)
	}
	slices.Sort(families)
	var out []lane
	for _, f := range families {
		for _, group := range s.split(byFamily[f], g) {
			out = append(out, s.newLane(f, group))
		}
	}
	return out
}

// split groups items of one family.
func (s *solver) split(items []int32, g grain) [][]int32 {
	if len(items) <= g.groups/2 {
		out := make([][]int32, len(items))
		for i := range items {
			out[i] = items[i : i+1 : i+1]
		}
		return out
	}
	for step := firstStep; ; step *= 2 {
		if groups := s.directions(items, step, g.flat); len(groups) <= g.groups || step > 64 {
			return groups
		}
	}
}

// directions groups items by the ratio of their needs, in steps; flat dimensions
// have a step of their own.
func (s *solver) directions(items []int32, step, flat float64) [][]int32 {
	index := map[uint64]int{}
	var groups [][]int32
	for _, i := range items {
		key := s.direction(i, step, flat)
		g, ok := index[key]
		if !ok {
			g = len(groups)
			index[key], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// direction numbers the steps in which the needs' ratios to the first of them
// fall. A dimension that all need alike, one per thing such as the number of
// pods, tells sizes apart rather than directions; with an infinite step it is
// left out.
func (s *solver) direction(i int32, step, flat float64) uint64 {
	need := s.need(i)
	first := 0.0
	for d, n := range need {
		if !s.flat[d] && n > 0 {
			first = math.Log2(float64(n) * s.scale[d])
			break
		}
	}
	key := uint64(14695981039346656037)
	for d, n := range need {
		wide := step
		if s.flat[d] {
			wide = flat
		}
		if math.IsInf(wide, 1) {
			continue
		}
		bucket := int64(math.MinInt32)
		if n > 0 {
			bucket = int64(math.Round((math.Log2(float64(n)*s.scale[d]) - first) / wide))
		}
		key = (key ^ uint64(bucket)) * 1099511628211
	}
	return key
}

func (s *solver) newLane(f int, items []int32) lane {
	l := lane{family: &s.p.Families[f], number: f, items: items, flattest: make([]float64, s.p.Dims), steepest: make([]float64, s.p.Dims)}
	slices.SortFunc(l.items, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.size[b], s.size[a]), cmp.Compare(a, b))
	})
	l.sizes, l.skip = make([]float64, len(items)), make([]int32, len(items)+1)
	for d := range l.flattest {
		l.flattest[d] = math.Inf(1)
	}
	for pos, i := range l.items {
		l.sizes[pos] = s.size[i]
		for d, n := range s.need(i) {
			slope := float64(n) / s.size[i]
			l.flattest[d], l.steepest[d] = min(l.flattest[d], slope), max(l.steepest[d], slope)
		}
	}
	for pos := range l.skip {
		l.skip[pos] = int32(pos)
	}
	return l
}

// alive is the first position from pos on whose item is not used up; the length
// of the lane if there is none.
func (l *lane) alive(pos int32, left []int) int32 {
	end := int32(len(l.items))
	at := pos
	for at < end {
		if l.skip[at] != at {
			at = l.skip[at]
			continue
		}
		if left[l.items[at]] > 0 {
			break
		}
		l.skip[at] = at + 1
	}
	for pos < at {
		next := l.skip[pos]
		l.skip[pos] = at
		pos = max(next, pos+1)
	}
	return at
}

// from is the first position from pos on that would fit if its item had the given
// slopes: with the flattest, what comes before is too large for sure; with the
// steepest, what comes from there on fits for sure.
func (l *lane) from(pos int32, free []int64, slopes []float64) int32 {
	most := math.Inf(1)
	for d, slope := range slopes {
		if slope > 0 {
			most = min(most, float64(free[d])/slope)
		}
	}
	// A rounding error must not skip what just fits.
	most *= 1 + 1e-9
	lo, hi := int(pos), len(l.sizes)
	if lo >= hi || l.sizes[lo] <= most {
		return pos
	}
	for lo < hi {
		mid := (lo + hi) / 2
		if l.sizes[mid] <= most {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return int32(lo)
}
