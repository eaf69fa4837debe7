package pack

// cursor is a lane while one box is filled. It only moves forward: what does not
// fit now will not fit later.
type cursor struct {
	lane  *lane
	pos   int32
	taken int
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
	parts   []Part
	chosen  map[int32]int
}

func (s *solver) newFiller(left []int) *filler {
	return &filler{s: s, lanes: s.lanesOf(left), left: left, inverse: make([]float64, s.p.Dims), chosen: map[int32]int{}}
}

// fill packs one box of a model as well as it can, without taking anything from
// what is left, and returns its content and what that is worth.
func (f *filler) fill(model int, taste taste) (parts []Part, worth float64) {
	f.start(model)
	clear(f.chosen)
	f.parts = f.parts[:0]
	for {
		best, at := -1.0, -1
		for c := 0; c < len(f.cursors); {
			cur := &f.cursors[c]
			if !f.settle(cur, model) {
				last := len(f.cursors) - 1
				f.cursors[c] = f.cursors[last]
				f.cursors = f.cursors[:last]
				continue
			}
			if score := f.score(cur.lane.items[cur.pos], model, taste); score > best || score == best && at >= 0 && cur.lane.items[cur.pos] < f.cursors[at].lane.items[f.cursors[at].pos] {
				best, at = score, c
			}
			c++
		}
		if at < 0 {
			break
		}
		f.take(&f.cursors[at], model)
	}
	f.s.work += len(f.parts)
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
	for i := range f.lanes {
		l := &f.lanes[i]
		if l.family.Models.Has(model) {
			f.cursors = append(f.cursors, cursor{lane: l, pos: l.alive(0, f.left), plain: l.family.Plain()})
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
	end := int32(len(c.lane.items))
	for c.pos < end {
		item := c.lane.items[c.pos]
		if f.left[item] > c.taken && f.fits(item) {
			return true
		}
		c.taken = 0
		f.s.work++
		next := c.lane.alive(c.pos+1, f.left)
		if next >= end {
			break
		}
		c.pos = c.lane.from(next, f.load.Free)
		if c.pos < end {
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
	// greed is how much it minds that an item is worth less here than elsewhere.
	greed float64
	// balance is how much it prefers what needs what the box has plenty of.
	balance float64
}

// score is how well an item goes into the box as it is: large items that need
// what is plentiful, and that are worth their space here, come first.
func (f *filler) score(item int32, model int, t taste) float64 {
	free := f.load.Free
	dot, size := 0.0, 0.0
	for d, n := range f.s.need(item) {
		if n == 0 {
			continue
		}
		share := float64(n) * f.inverse[d]
		dot += share * (1 + t.balance*(float64(free[d])*f.inverse[d]-0.5))
		size += share * f.s.priced[model*f.s.p.Dims+d]
	}
	if t.greed == 0 || size == 0 {
		return dot
	}
	rate := f.s.worth[item] / size
	return dot * (1 + t.greed*(rate-1))
}

func (f *filler) take(c *cursor, model int) {
	item := c.lane.items[c.pos]
	if l := &f.load; l.Open != nil && c.lane.family.Variants != nil {
		v, _ := l.Variant(c.lane.family, model, f.s.p.Cells)
		f.s.p.Cells.Narrow(l.Open, c.lane.family.Variants[v].State)
	}
	f.load.Add(c.lane.family, f.s.need(item), 1)
	c.taken++
	if at, ok := f.chosen[item]; ok {
		f.parts[at].Count++
		return
	}
	f.chosen[item] = len(f.parts)
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
