package pack

import (
	"math"
	"slices"
	"sort"
)

// layout is the items sorted into lanes.
type layout struct {
	lanes []template
	// laneOf is the lane of each item, ranked the items lane by lane.
	laneOf, ranked []int32
}

// template is the constant part of a lane.
type template struct {
	family *Family
	// flattest and steepest are for each dimension the least and the greatest need
	// per size of any of the items.
	flattest, steepest []float64
}

// lane is a list of items of one family with about the same ratios of needs, those of which
// some are left, the largest first, so that first fit is best fit.
type lane struct {
	*template
	items []int32
	// sum is what the items that are left need together, count their number.
	sum   []float64
	count int
}

// A family has at most mostLanes, fewer where there are many families.
const (
	mostLanes = 40
	allLanes  = 320
)

// Directions differ by a step in powers of two, from the finest to the coarsest.
const firstStep, coarsest = 0.25, 64

func newLayout(in *instance) *layout {
	l := &layout{laneOf: make([]int32, len(in.counts)), ranked: make([]int32, 0, len(in.counts))}
	byFamily := make([][]int32, len(in.p.Families))
	for i, n := range in.counts {
		if n > 0 {
			f := in.p.Items[i].Family
			byFamily[f] = append(byFamily[f], int32(i))
		}
	}
	most := min(mostLanes, max(1, allLanes/len(in.p.Families)))
	for f, items := range byFamily {
		for _, group := range split(in, items, most) {
			slices.SortFunc(group, in.byFallingSize)
			for _, i := range group {
				l.laneOf[i] = int32(len(l.lanes))
			}
			l.ranked = append(l.ranked, group...)
			l.lanes = append(l.lanes, newTemplate(in, f, group))
		}
	}
	return l
}

func newTemplate(in *instance, family int, items []int32) template {
	t := template{family: &in.p.Families[family], flattest: make([]float64, in.p.Dims), steepest: make([]float64, in.p.Dims)}
	for d := range t.flattest {
		t.flattest[d] = math.Inf(1)
	}
	for _, i := range items {
		for d, n := range in.need(i) {
			slope := float64(n) / in.size[i]
			t.flattest[d], t.steepest[d] = min(t.flattest[d], slope), max(t.steepest[d], slope)
		}
	}
	return t
}

// lanesOf sorts those of the items of which something is left into lanes.
func (s *solver) lanesOf(left []int) []lane {
	out := make([]lane, len(s.lanes))
	for i := range out {
		out[i] = lane{template: &s.lanes[i], sum: make([]float64, s.p.Dims)}
	}
	for _, i := range s.ranked {
		if left[i] == 0 {
			continue
		}
		l := &out[s.laneOf[i]]
		l.items = append(l.items, i)
		l.count += left[i]
		for d, n := range s.need(i) {
			l.sum[d] += float64(n) * float64(left[i])
		}
	}
	return out
}

// split groups items of one family by direction, in steps that are doubled until there
// are few enough groups. A dimension that all need alike tells sizes apart rather than
// directions, and is left out.
func split(in *instance, items []int32, most int) [][]int32 {
	if len(items) <= most/2 {
		return slices.Collect(slices.Chunk(items, 1))
	}
	for step := firstStep; ; step *= 2 {
		if step > coarsest {
			most = math.MaxInt
		}
		index := map[uint64]int{}
		var groups [][]int32
		for i := 0; i < len(items) && len(groups) <= most; i++ {
			key := uint64(14695981039346656037)
			for d, log := range in.heading(items[i]) {
				bucket := int64(math.MinInt32)
				if !math.IsNaN(log) && !in.flat[d] {
					bucket = int64(math.Round(log / step))
				}
				key = (key ^ uint64(bucket)) * 1099511628211
			}
			g, ok := index[key]
			if !ok {
				g = len(groups)
				index[key], groups = g, append(groups, nil)
			}
			groups[g] = append(groups[g], items[i])
		}
		if len(groups) <= most {
			return groups
		}
	}
}

// from is the first position from pos on that would fit if its item had the given slopes.
// With the flattest, nothing before it fits; with the steepest, all from there on do.
func (l *lane) from(pos int32, free []int64, slopes, size []float64) int32 {
	most := math.Inf(1)
	for d, slope := range slopes {
		if slope > 0 {
			most = min(most, float64(free[d])/slope)
		}
	}
	// A rounding error must not skip what just fits.
	most *= 1 + 1e-9
	return pos + int32(sort.Search(len(l.items)-int(pos), func(n int) bool { return size[l.items[int(pos)+n]] <= most }))
}
