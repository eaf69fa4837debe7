// Package grid divides things over directions: what a thing needs of each dimension, for
// what it needs of the first, lies between lines at powers of two.
package grid

import "math"

const tiny = 1e-9

// Corners are the directions of a grid around that of an item: those that have each
// of its ratios on one side or the other.
type Corners struct {
	// sides are what there is of each dimension, Used how many are divided.
	sides []sides
	Used  int
	step  float64 // of the grid
}

// New is a grid whose lines differ by a step in powers of two, for so many dimensions. It
// is not safe for concurrent use.
func New(dims int, step float64) *Corners { return &Corners{step: step, sides: make([]sides, dims)} }

// sides are the lines of the grid between which the need for a dimension is.
type sides struct {
	divided bool
	// part is how much of the item goes to the second, if it is divided.
	part float64
	// need is what all of the item would need on either side, key tells the sides
	// from others.
	need [2]float64
	key  [2]uint64
}

// line is the ratio at a line of the grid.
func (c *Corners) line(number float64) float64 { return math.Exp2(number * c.step) }

// MostSides is over how many ratios an item is divided; by the others it is only
// told apart.
const MostSides = 3

// missing stands for a dimension that is not needed, beyond the ratios.
const missing = math.MaxInt16

// Surround finds the corners around a need with a heading. The ratios of the
// dimensions to the first that is needed count in steps of powers of two.
func (c *Corners) Surround(need []int64, heading, scale []float64) {
	c.Used = 0
	first, base := -1, 0.0
	for d, n := range need {
		switch side := &c.sides[d]; {
		case n == 0:
			side.be(0, missing)
		case first < 0:
			first, base = d, float64(n)*scale[d]
			side.be(float64(n), missing-1)
		default:
			c.divide(side, float64(n)*scale[d]/base, heading[d]/c.step, base/scale[d])
		}
	}
}

// divide puts what has a ratio on both sides of it, place being how many steps it is
// from one, and unit what a ratio of one comes to.
func (c *Corners) divide(side *sides, ratio, place, unit float64) {
	low := math.Floor(place)
	from, to := c.line(low), c.line(low+1)
	part := (ratio - from) / (to - from)
	if c.Used == MostSides || part < tiny {
		side.be(ratio*unit, int(math.Round(place)))
		return
	}
	c.Used++
	*side = sides{true, part, [2]float64{from * unit, to * unit}, [2]uint64{number(int(low)), number(int(low) + 1)}}
}

// be has all of the item on one side.
func (side *sides) be(need float64, line int) {
	side.divided, side.need[0], side.key[0] = false, need, number(line)
}

func number(line int) uint64 { return uint64(uint16(int16(line))) }

// Cell is equal for items between the same lines. Two others have the same about once
// in 2^64 cases, as have two corners the same key; then the bound is a little lower.
func (c *Corners) Cell() uint64 {
	key := uint64(0)
	for d := range c.sides {
		key = key*spreading + c.sides[d].key[0]
		if c.sides[d].divided {
			key = ^key
		}
	}
	return key
}

const spreading = 0x9e3779b97f4a7c15

// Key is equal for equal directions, whatever cell they are corners of. The bits of
// the number of a corner are the sides on which it has the dimensions that are
// divided.
func (c *Corners) Key(corner int) uint64 {
	key := uint64(0)
	for d := range c.sides {
		at := 0
		if c.sides[d].divided {
			at, corner = corner&1, corner>>1
		}
		key = key*spreading + c.sides[d].key[at]
	}
	return key
}

// Give adds to a sum what a corner has of so many of the item.
func (c *Corners) Give(sum []float64, corner, times int) {
	weight, bits := 1.0, corner
	for d := range c.sides {
		if side := &c.sides[d]; side.divided {
			if bits&1 > 0 {
				weight *= side.part
			} else {
				weight *= 1 - side.part
			}
			bits >>= 1
		}
	}
	for d := range c.sides {
		at := 0
		if c.sides[d].divided {
			at, corner = corner&1, corner>>1
		}
		sum[d] += weight * c.sides[d].need[at] * float64(times)
	}
}
