package pack

import (
	"math"
	"slices"
)

// layout sorts all items of a problem into lanes, once.
type layout struct {
	lanes []template
	// laneOf is the lane of each item; lane by lane, the largest first, ranked
	// are the items in that order.
	laneOf, ranked []int32
}

// template is what does not change of a lane.
type template struct {
	family *Family
	// flattest and steepest are for each dimension the least and the greatest need
	// per size of any of the items.
	flattest, steepest []float64
}

// lane is a list of items of one family whose needs point in about the same
// direction, the largest first: whoever fills a box takes the first that fits.
type lane struct {
	*template
	items []int32
	// sum is what the items that are left need together, count their number.
	sum   []float64
	count int
	// skip leads from a position to one at or after it that may still have items
	// left; it is shortened on the way.
	skip []int32
}

// A family has at most mostLanes, fewer where there are many families.
const (
	mostLanes = 40
	allLanes  = 320
)

const firstStep = 0.25 // in powers of two

// newLayout sorts all items of which there are some.
func (s *solver) newLayout() *layout {
	l := &layout{laneOf: make([]int32, len(s.all))}
	byFamily := make([][]int32, len(s.p.Families))
	for _, i := range s.all {
		if s.counts[i] > 0 {
			f := s.p.Items[i].Family
			byFamily[f] = append(byFamily[f], i)
		}
	}
	most := min(mostLanes, max(1, allLanes/len(s.p.Families)))
	l.ranked = make([]int32, 0, len(s.all))
	for f, items := range byFamily {
		for _, group := range s.split(items, most) {
			s.descending(group)
			for _, i := range group {
				l.laneOf[i] = int32(len(l.lanes))
				l.ranked = append(l.ranked, i)
			}
			l.lanes = append(l.lanes, s.newTemplate(f, group))
		}
	}
	return l
}

// descending sorts items, the largest first, equal ones by their numbers.
func (s *solver) descending(items []int32) {
	slices.SortFunc(items, func(a, b int32) int {
		switch x, y := s.size[a], s.size[b]; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return int(a) - int(b)
	})
}

func (s *solver) newTemplate(family int, items []int32) template {
	t := template{family: &s.p.Families[family], flattest: make([]float64, s.p.Dims), steepest: make([]float64, s.p.Dims)}
	for d := range t.flattest {
		t.flattest[d] = math.Inf(1)
	}
	for _, i := range items {
		for d, n := range s.need(i) {
			slope := float64(n) / s.size[i]
			t.flattest[d], t.steepest[d] = min(t.flattest[d], slope), max(t.steepest[d], slope)
		}
	}
	return t
}

// lanesOf sorts those of the items of which something is left into lanes.
func (s *solver) lanesOf(left []int) []lane {
	mine := make([]int32, 0, len(s.layout.ranked))
	for _, i := range s.layout.ranked {
		if left[i] > 0 {
			mine = append(mine, i)
		}
	}
	skip := make([]int32, len(mine)+len(s.layout.lanes))
	var out []lane
	for lo := 0; lo < len(mine); {
		number := s.layout.laneOf[mine[lo]]
		hi := lo + 1
		for hi < len(mine) && s.layout.laneOf[mine[hi]] == number {
			hi++
		}
		l := lane{template: &s.layout.lanes[number], items: mine[lo:hi:hi], sum: make([]float64, s.p.Dims)}
		l.skip, skip = skip[:hi-lo+1], skip[hi-lo+1:]
		for pos := range l.skip {
			l.skip[pos] = int32(pos)
		}
		for _, i := range l.items {
			l.count += left[i]
			for d, n := range s.need(i) {
				l.sum[d] += float64(n) * float64(left[i])
			}
		}
		out = append(out, l)
		lo = hi
	}
	return out
}

// split groups items of one family by direction. The ratios of needs count in
// steps of a factor, which is doubled until there are few enough groups.
func (s *solver) split(items []int32, most int) [][]int32 {
	if len(items) <= most/2 {
		out := make([][]int32, len(items))
		for i := range items {
			out[i] = items[i : i+1 : i+1]
		}
		return out
	}
	logs := s.logarithms(items)
	for step := firstStep; ; step *= 2 {
		if groups := s.directions(items, logs, step); len(groups) <= most || step > 64 {
			return groups
		}
	}
}

// logarithms are those of the ratios of what each item needs to the first of it, base
// two, by item and dimension; NaN for what is not needed. A dimension that all need
// alike, one per thing such as the number of pods, tells sizes apart rather than
// directions and is left out.
func (s *solver) logarithms(items []int32) []float64 {
	out := make([]float64, 0, len(items)*s.p.Dims)
	for _, i := range items {
		first := math.NaN()
		for d, n := range s.need(i) {
			switch {
			case s.flat[d]:
			case n == 0:
				out = append(out, math.NaN())
			default:
				log := math.Log2(float64(n) * s.scale[d])
				if math.IsNaN(first) {
					first = log
				}
				out = append(out, log-first)
			}
		}
	}
	return out
}

// directions groups items by the logarithms of the ratios of their needs, in steps.
func (s *solver) directions(items []int32, logs []float64, step float64) [][]int32 {
	index := map[uint64]int32{}
	of := make([]int32, len(items))
	var count []int
	for n := range items {
		width := len(logs) / len(items)
		key := direction(logs[n*width:(n+1)*width], step)
		g, ok := index[key]
		if !ok {
			g = int32(len(index))
			index[key], count = g, append(count, 0)
		}
		of[n] = g
		count[g]++
	}
	groups, room := make([][]int32, len(count)), make([]int32, len(items))
	for g, n := range count {
		groups[g], room = room[:0:n], room[n:]
	}
	for n, i := range items {
		groups[of[n]] = append(groups[of[n]], i)
	}
	return groups
}

// direction numbers the steps in which logarithms fall.
func direction(logs []float64, step float64) uint64 {
	key := uint64(14695981039346656037)
	for _, log := range logs {
		bucket := int64(math.MinInt32)
		if !math.IsNaN(log) {
			bucket = int64(math.Round(log / step))
		}
		key = (key ^ uint64(bucket)) * 1099511628211
	}
	return key
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
func (l *lane) from(pos int32, free []int64, slopes, size []float64) int32 {
	most := math.Inf(1)
	for d, slope := range slopes {
		if slope > 0 {
			most = min(most, float64(free[d])/slope)
		}
	}
	// A rounding error must not skip what just fits.
	most *= 1 + 1e-9
	lo, hi := int(pos), len(l.items)
	if lo >= hi || size[l.items[lo]] <= most {
		return pos
	}
	for lo < hi {
		mid := (lo + hi) / 2
		if size[l.items[mid]] <= most {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return int32(lo)
}
