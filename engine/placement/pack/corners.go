package pack

import "math"

// corners are the directions of a grid around that of an item.
type corners struct {
	list [1 << mostSides]corner
	used int
	// step is that of the grid, powers what its lines come to as far as that was
	// asked, from the line -len/2 on; zero is unknown.
	step   float64
	powers [128]float64
}

// line is the ratio at a line of the grid.
func (c *corners) line(number float64) float64 {
	at := int(number) + len(c.powers)/2
	if at < 0 || at >= len(c.powers) {
		return math.Exp2(number * c.step)
	}
	if c.powers[at] == 0 {
		c.powers[at] = math.Exp2(number * c.step)
	}
	return c.powers[at]
}

// corner is a direction with the part of an item that goes there.
type corner struct {
	weight float64
	// need is what all of the item would need if it had this direction.
	need []float64
	// key is equal for equal directions. Two others have the same about once in 2^64
	// cases; then the bound is a little lower.
	key uint64
}

// heading is the direction of an item: for each dimension the logarithm of what is
// needed of it for what is needed of the first, in shares of the largest box. NaN
// stands for what is not needed, and for the first.
func (s *solver) heading(item int32, out []float64) {
	base := 0.0
	for d, n := range s.need(item) {
		out[d] = math.NaN()
		switch {
		case n == 0:
		case base == 0:
			base = float64(n) * s.scale[d]
		default:
			out[d] = math.Log2(float64(n) * s.scale[d] / base)
		}
	}
}

// mostSides is over how many ratios an item is divided; by the others it is only
// told apart.
const mostSides = 3

// missing stands for a dimension that is not needed, beyond the ratios.
const missing = math.MaxInt16

// surround finds the corners around a need with a heading. The ratios of the
// dimensions to the first that is needed count in steps of powers of two.
func (c *corners) surround(need []int64, heading, scale []float64) []corner {
	c.used = 1
	c.list[0] = corner{1, c.list[0].need[:0], 0}
	first, base := -1, 0.0
	for d, n := range need {
		switch {
		case n == 0:
			c.extend(0, missing)
		case first < 0:
			first, base = d, float64(n)*scale[d]
			c.extend(float64(n), missing-1)
		default:
			c.divide(float64(n)*scale[d]/base, heading[d]/c.step, base/scale[d])
		}
	}
	return c.list[:c.used]
}

// divide puts what has a ratio on both sides of it, place being how many steps it is
// from one, and unit what a ratio of one comes to.
func (c *corners) divide(ratio, place, unit float64) {
	low := math.Floor(place)
	from, to := c.line(low), c.line(low+1)
	part := (ratio - from) / (to - from)
	if c.used == len(c.list) || part < tiny {
		c.extend(ratio*unit, int(math.Round(place)))
		return
	}
	n := c.used
	for i := range n {
		o, twin := &c.list[i], &c.list[n+i]
		*twin = corner{o.weight * part, append(twin.need[:0], o.need...), o.key}
		o.weight *= 1 - part
	}
	c.used = n
	c.extend(from*unit, int(low))
	for i := n; i < 2*n; i++ {
		c.list[i].extend(to*unit, int(low)+1)
	}
	c.used = 2 * n
}

func (c *corners) extend(need float64, key int) {
	for i := range c.used {
		c.list[i].extend(need, key)
	}
}

func (c *corner) extend(need float64, key int) {
	c.need = append(c.need, need)
	c.key = c.key*0x9e3779b97f4a7c15 + uint64(uint16(int16(key)))
}
