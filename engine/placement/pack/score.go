package pack

import "math"

// weigh prices the average. What a box holds of a group is no measure of what still goes in.
func (f *filler) weigh(model int) {
	f.averageWorth, f.price = 0, 0
	for d, n := range f.average {
		w := f.s.priced[model*f.s.p.Dims+d]
		f.averageWorth += w * n
		f.price += w
		f.value[d], f.averages[d] = w*f.inverse[d], 0
		if n > 0 && d < f.s.measured {
			f.averages[d] = f.inverse[d] / n
		}
	}
}

// rate scores what a cursor is at.
func (f *filler) rate(c *cursor) {
	item := c.lane.items[c.pos]
	c.seen, c.item, c.score = f.now, item, f.score(item, c.plain)
	if !c.plain {
		c.score *= math.Sqrt(float64(f.left[item]))
	}
}

// spare is the share of a box's price that may be left in any shape.
const spare = 0.01

// score is how well an item goes into the box as it is: large items first, as
// long as what they leave can be filled with the average of what there is. Space
// counts by its share in the model's price.
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
