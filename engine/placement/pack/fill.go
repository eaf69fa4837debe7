package pack

import "math"

// cursor is a lane while one box is filled. It only moves forward: what does not
// fit now will not fit later.
type cursor struct {
	lane  *lane
	pos   int32
	taken int // of the item at pos
	part  int // of the content, if some of the item are taken
	plain bool
}

// filler fills boxes, one at a time, out of what is left.
type filler struct {
	s       *solver
	lanes   []lane
	left    []int
	cursors []cursor
	load    Load
	inverse []float64
	// average is what the things that may go into the box need on average, in
	// shares of it, averageWorth their price there.
	average             []float64
	averageWorth, price float64
	parts               []Part
	chosen              map[int32]int
	laneOf              map[int]int
}

// newFiller prepares to fill boxes with what is left of some items.
func (s *solver) newFiller(items []int32, left []int) *filler {
	f := &filler{
		s: s, lanes: s.lanesOf(items, left, forLanes), left: left,
		inverse: make([]float64, s.p.Dims), average: make([]float64, s.p.Dims),
	}
	for i := range f.lanes {
		l := &f.lanes[i]
		l.sum = make([]float64, s.p.Dims)
		for _, item := range l.items {
			s.laneOf[item] = int32(i)
			for d, n := range s.need(item) {
				l.sum[d] += float64(n) * float64(left[item])
			}
		}
	}
	return f
}

// fill packs one box of a model as well as it can, without taking anything from
// what is left, and returns its content and what that is worth.
func (f *filler) fill(model int, taste taste) (parts []Part, worth float64) {
	f.start(model)
	f.weigh(model)
	f.parts = f.parts[:0]
	for {
		best, at := -1.0, -1
		f.s.work += len(f.cursors)
		for c := 0; c < len(f.cursors); {
			cur := &f.cursors[c]
			if !f.settle(cur, model) {
				last := len(f.cursors) - 1
				f.cursors[c] = f.cursors[last]
				f.cursors = f.cursors[:last]
				continue
			}
			score := f.score(cur.lane.items[cur.pos], model, taste)
			if !cur.plain {
				score *= math.Sqrt(float64(f.left[cur.lane.items[cur.pos]]))
			}
			if score > best || score == best && at >= 0 && cur.lane.items[cur.pos] < f.cursors[at].lane.items[f.cursors[at].pos] {
				best, at = score, c
			}
			c++
		}
		if at < 0 {
			break
		}
		f.take(&f.cursors[at], model)
	}
	if f.s.p.Pools[f.s.p.Models[model].Pool].Guarded {
		f.shrink(model)
	}
	for _, part := range f.parts {
		worth += f.s.worth[part.Item] * float64(part.Count)
	}
	return f.parts, worth
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
	clear(f.average)
	for i := range f.lanes {
		l := &f.lanes[i]
		if l.family.Models.Has(model) {
			for d, n := range l.sum {
				f.average[d] += n * f.inverse[d]
			}
			f.cursors = append(f.cursors, cursor{lane: l, pos: l.alive(0, f.left), plain: l.family.Plain()})
		}
	}
}

// weigh prices the average.
func (f *filler) weigh(model int) {
	f.averageWorth, f.price = 0, 0
	for d, n := range f.average {
		w := f.s.priced[model*f.s.p.Dims+d]
		f.averageWorth += w * n
		f.price += w
	}
}

// commit takes a content out of what is left, n times.
func (f *filler) commit(parts []Part, n int) {
	for _, part := range parts {
		f.left[part.Item] -= part.Count * n
		l := &f.lanes[f.s.laneOf[part.Item]]
		for d, need := range f.s.need(int32(part.Item)) {
			l.sum[d] -= float64(need) * float64(part.Count*n)
		}
	}
}

// settle moves a cursor to the first item that fits; false if none does.
func (f *filler) settle(c *cursor, model int) bool {
	if !c.plain {
		if f.load.Admits(c.lane.family) == 0 {
			return false
		}
		if _, ok := f.load.Variant(c.lane.family, model, f.s.p.Cells); !ok {
			return false
		}
	}
	return f.seek(c)
}

// tries is how many items of about the right size are looked at one by one before
// the cursor moves on to those that fit for sure.
const tries = 6

// seek finds the next item that fits.
func (f *filler) seek(c *cursor) bool {
	end := int32(len(c.lane.items))
	for n := 0; c.pos < end; n++ {
		item := c.lane.items[c.pos]
		if f.left[item] > c.taken && f.fits(item) {
			return true
		}
		f.s.work++
		c.taken = 0
		if c.pos = c.lane.alive(c.pos+1, f.left); c.pos >= end {
			break
		}
		switch n {
		case 0:
			c.pos = c.lane.from(c.pos, f.load.Free, c.lane.flattest)
			c.pos = c.lane.alive(c.pos, f.left)
		case tries:
			c.pos = c.lane.from(c.pos, f.load.Free, c.lane.steepest)
			c.pos = c.lane.alive(c.pos, f.left)
		}
	}
	c.pos = end
	return false
}

func (f *filler) fits(item int32) bool {
	free := f.load.Free
	for d, n := range f.s.need(item) {
		if n > free[d] {
			return false
		}
	}
	return true
}

// taste is how a filler chooses what goes into a box next.
type taste struct {
	// care is how much it minds leaving space that will be hard to use.
	care int
}

// spare is the share of a box's price that may be left in any shape.
const spare = 0.01

// score is how well an item goes into the box as it is: large items first, as
// long as what they leave can be filled with the average of what there is. Space
// counts by its share in the model's price.
func (f *filler) score(item int32, model int, t taste) float64 {
	weights := f.s.priced[model*f.s.p.Dims:]
	size, rest, times := 0.0, 0.0, math.Inf(1)
	for d, n := range f.s.need(item) {
		w, inverse := weights[d], f.inverse[d]
		left := float64(f.load.Free[d]-n) * inverse
		size += w * float64(n) * inverse
		rest += w * left
		if f.average[d] > 0 {
			times = min(times, left/f.average[d])
		}
	}
	usable := (times*f.averageWorth + spare*f.price) / (rest + spare*f.price)
	usable = min(usable, 1)
	for range t.care {
		size *= usable
	}
	return size
}

func (f *filler) take(c *cursor, model int) {
	item := c.lane.items[c.pos]
	if l := &f.load; l.Open != nil && c.lane.family.Variants != nil {
		v, _ := l.Variant(c.lane.family, model, f.s.p.Cells)
		f.s.p.Cells.Narrow(l.Open, c.lane.family.Variants[v].State)
	}
	f.load.Add(c.lane.family, f.s.need(item), 1)
	if c.taken++; c.taken > 1 {
		f.parts[c.part].Count++
		return
	}
	c.part = len(f.parts)
	f.parts = append(f.parts, Part{Item: int(item), Count: 1})
}

// shrink takes the last things out again until the guard is content.
func (f *filler) shrink(model int) {
	total := 0
	for _, p := range f.parts {
		total += p.Count
	}
	modest := func(keep int) bool {
		return f.s.p.Guard(&Box{Model: model, Parts: prefix(f.parts, keep)})
	}
	lo, hi := 0, total
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if modest(mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	f.parts = prefix(f.parts, lo)
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
