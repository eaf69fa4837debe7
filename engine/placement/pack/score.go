package pack

import "math"

// weigh prices the average item for a model. Dimensions that stand for groups are left out.
func (f *filler) weigh(model int) {
	f.averageWorth, f.price = 0, 0
	prices, resources, needs := f.s.priced[model*f.s.p.Dims:], 0.0, tiny
	for d, n := range f.average[:f.s.measured] {
		resources, needs = resources+prices[d], needs+n
	}
	for d, n := range f.average {
		w := prices[d]
		if d < f.s.measured {
			w += f.s.even * (resources*n/needs - w)
		}
		f.averageWorth += w * n
		f.price += w
		f.value[d], f.averages[d] = w*f.inverse[d], 0
		if n > 0 && d < f.s.measured {
			f.averages[d] = f.inverse[d] / n
		}
	}
}

// rate scores the item that a cursor is at; of items with rules, of which a box takes only
// some, those of which most are left go first.
func (f *filler) rate(c *cursor) {
	item := c.lane.items[c.pos]
	c.seen, c.item, c.score = f.now, item, f.score(item, c.plain)
	if !c.plain {
		c.score *= math.Sqrt(float64(f.left[item]))
	}
}

// spare is the share of a box's price that may be left in any shape.
const spare = 0.01

// score is size · usable^8, or size · usable if not strict. size is what the item takes of
// the box, usable the part of what it leaves that average items could fill, both by dual
// prices.
func (f *filler) score(item int32, strict bool) float64 {
	need := f.s.need(item)
	free, values, averages := f.load.Free[:len(need)], f.value[:len(need)], f.averages[:len(need)]
	size, rest, times := 0.0, 0.0, math.MaxFloat64
	for d, n := range need {
		value, left := values[d], float64(free[d]-n)
		size += value * float64(n)
		rest += value * left
		if most := left * averages[d]; averages[d] > 0 && most < times {
			times = most
		}
	}
	usable := (times*f.averageWorth + spare*f.price) / (rest + spare*f.price)
	if usable >= 1 {
		return size
	}
	if strict {
		usable *= usable
		usable *= usable
		usable *= usable
	}
	return size * usable
}
