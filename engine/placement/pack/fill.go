package pack

import (
	"slices"
	"sort"
)

// cursor is the place in a lane while one box is filled. It only moves forward: what does
// not fit now will not fit later.
type cursor struct {
	lane  *lane
	pos   int32
	plain bool
	// score is that of item, which was at pos when it was seen last.
	score float64
	item  int32
	seen  int
	// tokens is how many of those in the box are known not to be in conflict.
	tokens int
}

// filler fills one box at a time from the items that are left.
type filler struct {
	s     *solver
	lanes []lane
	left  []int
	// worth is that of what is left.
	worth   float64
	cursors []cursor
	load    Load
	inverse []float64
	// average is what the things that may go into the box need on average, in
	// shares of it, averageWorth their price there.
	average             []float64
	averageWorth, price float64
	// value is the price of one of what the box holds, averages how many of the
	// average go into it, by dimension; zero where the average needs none.
	value, averages []float64
	parts           []Part
	// now counts what is taken, mark is how much has to be free until all lanes are
	// looked at again.
	now  int
	mark []int64
	// at is where in parts each item is, from one. ascending are the items, the smallest
	// first; large is how many things went into the box that was filled last, beside those
	// that it was seeded with, for its price.
	at        []int32
	ascending []int32
	large     float64
}

// newFiller prepares to fill boxes with what is left of the items.
func (s *solver) newFiller(left []int) *filler {
	f := &filler{
		s: s, lanes: s.lanesOf(left), left: left, at: make([]int32, len(s.counts)),
		inverse: make([]float64, s.p.Dims), average: make([]float64, s.p.Dims), mark: make([]int64, s.p.Dims),
		value: make([]float64, s.p.Dims), averages: make([]float64, s.p.Dims),
	}
	for i := range f.lanes {
		for _, item := range f.lanes[i].items {
			f.worth += s.worth[item] * float64(left[item])
		}
	}
	return f
}

// fill is the best content for a box of a model that greedy finds, and what it is worth;
// commit takes it from what is left.
//
// All lanes are scored again when the box has become noticeably fuller, in between only
// the one in front, until it stays there (lazy greedy).
func (f *filler) fill(model int) (parts []Part, worth float64) {
	f.start(model)
	f.weigh(model)
	f.parts = f.parts[:0]
	small := f.sprinkle(model)
	for {
		if !fits(f.mark, f.load.Free) {
			f.rescore(model)
		}
		at := f.front()
		if at < 0 {
			break
		}
		c := &f.cursors[at]
		switch {
		case c.seen == f.now:
			f.take(c, model)
			f.now++
		case !f.settle(c, model):
			f.drop(at)
		default:
			f.rate(c)
		}
	}
	for _, part := range f.parts {
		f.at[part.Item] = 0
	}
	f.large = float64(things(f.parts)-small) / max(f.s.p.Models[model].Price, tiny)
	if f.s.p.Guard != nil {
		f.shrink(model)
	}
	for _, part := range f.parts {
		worth += f.s.worth[part.Item] * float64(part.Count)
	}
	return f.parts, worth
}

// noticeable is the share of what was free at the last look at all lanes.
const noticeable = 0.8

func (f *filler) rescore(model int) {
	for c := 0; c < len(f.cursors); {
		if !f.settle(&f.cursors[c], model) {
			f.drop(c)
			continue
		}
		f.rate(&f.cursors[c])
		c++
	}
	for d, n := range f.load.Free {
		f.mark[d] = int64(noticeable * float64(n))
	}
}

// drop removes a cursor that has nothing more that fits.
func (f *filler) drop(c int) {
	last := len(f.cursors) - 1
	f.cursors[c] = f.cursors[last]
	f.cursors = f.cursors[:last]
}

// front is the cursor with the best score, -1 if none is left.
func (f *filler) front() int {
	best, at := -1.0, -1
	for c := range f.cursors {
		cur := &f.cursors[c]
		if cur.score > best || cur.score == best && cur.item < f.cursors[at].item {
			best, at = cur.score, c
		}
	}
	return at
}

func (f *filler) start(model int) {
	m := &f.s.p.Models[model]
	f.load.Reset(m)
	for d, c := range m.Holds {
		f.inverse[d] = 0
		if c > 0 {
			f.inverse[d] = 1 / float64(c)
		}
	}
	f.cursors = f.cursors[:0]
	f.now++
	for d, n := range f.load.Free {
		f.mark[d] = n + 1
	}
	clear(f.average)
	for i := range f.lanes {
		l := &f.lanes[i]
		if l.count > 0 && l.family.Models.Has(model) {
			for d, n := range l.sum {
				f.average[d] += n * f.inverse[d]
			}
			f.cursors = append(f.cursors, cursor{lane: l, plain: l.family.Plain()})
		}
	}
}

func (f *filler) done() bool {
	return !slices.ContainsFunc(f.lanes, func(l lane) bool { return l.count > 0 })
}

// commit takes a content out of what is left, n times.
func (f *filler) commit(parts []Part, n int) {
	for _, part := range parts {
		f.left[part.Item] -= part.Count * n
		f.worth -= f.s.worth[part.Item] * float64(part.Count*n)
		l := &f.lanes[f.s.laneOf[part.Item]]
		l.count -= part.Count * n
		if f.left[part.Item] == 0 {
			at, _ := slices.BinarySearchFunc(l.items, int32(part.Item), f.s.byFallingSize)
			l.items = slices.Delete(l.items, at, at+1)
		}
		for d, need := range f.s.need(int32(part.Item)) {
			l.sum[d] -= float64(need) * float64(part.Count*n)
		}
	}
}

// settle moves a cursor to the first item that fits; false if none does.
func (f *filler) settle(c *cursor, model int) bool {
	if !c.plain {
		if f.load.admits(c.lane.family, c.tokens) == 0 {
			return false
		}
		c.tokens = len(f.load.Present)
		if _, ok := f.load.variant(c.lane.family, model, f.s.p.Cells); !ok {
			return false
		}
	}
	return f.seek(c)
}

// tries is how many items of about the right size are tried before the cursor jumps to
// those that fit for sure.
const tries = 6

func (f *filler) seek(c *cursor) bool {
	end := int32(len(c.lane.items))
	for n := 0; c.pos < end; n++ {
		item := c.lane.items[c.pos]
		if f.left[item] > f.in(item) && fits(f.s.need(item), f.load.Free) {
			return true
		}
		c.pos++
		switch n {
		case 0:
			c.pos = c.lane.from(c.pos, f.load.Free, c.lane.flattest, f.s.size)
		case tries:
			c.pos = c.lane.from(c.pos, f.load.Free, c.lane.steepest, f.s.size)
		}
	}
	c.pos = end
	return false
}

func (f *filler) take(c *cursor, model int) {
	item := c.lane.items[c.pos]
	state, _ := f.load.variant(c.lane.family, model, f.s.p.Cells)
	f.load.Open.And(state)
	f.put(c.lane.family, item, 1)
}

// put puts n of an item into the box.
func (f *filler) put(family *Family, item int32, n int) {
	f.load.Add(family, f.s.need(item), n)
	if f.at[item] == 0 {
		f.parts = append(f.parts, Part{Item: int(item)})
		f.at[item] = int32(len(f.parts))
	}
	f.parts[f.at[item]-1].Count += n
}

// in is how many of an item are in the box.
func (f *filler) in(item int32) int {
	if at := f.at[item]; at > 0 {
		return f.parts[at-1].Count
	}
	return 0
}

// shrink takes the last things out again until the guard allows the content.
func (f *filler) shrink(model int) {
	modest := func(keep int) bool {
		return f.s.p.Guard(&Box{Model: model, Parts: prefix(f.parts, keep)})
	}
	f.parts = prefix(f.parts, sort.Search(things(f.parts), func(n int) bool { return !modest(n + 1) }))
}

// prefix is the first n things of a content.
func prefix(parts []Part, n int) []Part {
	out := make([]Part, 0, len(parts))
	for _, p := range parts {
		take := min(n, p.Count)
		if take == 0 {
			break
		}
		out = append(out, Part{p.Item, take})
		n -= take
	}
	return out
}
