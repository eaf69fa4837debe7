package pack

import (
	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
)

// Problem is what to pack and what can be bought. Solve does not change it.
type Problem struct {
	// Dims is the length of every Need and Holds.
	Dims   int
	Models []Model
	// Limits are what the boxes may weigh altogether, in units of their own; nil is
	// without limit.
	Limits   []int64
	Families []Family
	Items    []Item
	// Cells interprets the states of models and variants, nil if nothing is open.
	Cells *affinity.Cells
	// Guard is asked about a box before it is bought: is the content still modest
	// enough? It has to say yes to a part of what it says yes to. Nil is always yes.
	Guard func(b *Box) bool
}

// Model is a kind of box.
type Model struct {
	// Price is in $/h and not negative.
	Price float64
	// Holds is what fits into the box, by dimension.
	Holds []int64
	// Weighs is what the box takes of the limits, in their order.
	Weighs []int64
	// Open is the state of the labels that are open, nil if none is.
	Open bitset.Set
	// Present are the tokens that are in the box from the start.
	Present []Token
}

// Token is a thing of which a box can have one kind of holder only: a host port,
// or a side of an anti-affinity term.
type Token = int32

// Family is what items of different sizes have in common.
type Family struct {
	// Models are those that will do.
	Models bitset.Set
	// Loose are the models that would do if the family had not been bound to some of
	// them by a choice that could have been another; the bound reckons with these.
	// Nil is Models.
	Loose bitset.Set
	// Present are the tokens that an item brings into its box, Conflicts those
	// that it cannot be with; both ascending. A token in both means that there is
	// one such item to a box.
	Present, Conflicts []Token
	// Caps bound how many of a group there are in a box. All caps of a group have
	// the same Max.
	Caps []Cap
	// Variants are the ways to satisfy the family where labels are open, tried
	// in order; nil if nothing is open.
	Variants []Variant
}

// bounding are the models that the bound reckons with.
func (f *Family) bounding() bitset.Set {
	if f.Loose != nil {
		return f.Loose
	}
	return f.Models
}

// Variant is one way to satisfy a family: on these models, with these cells.
type Variant struct {
	Models bitset.Set
	State  bitset.Set
}

// Cap makes an item some of a group, Each of them, of which a box can hold at most Max
// as soon as one of them declares the limit.
type Cap struct {
	Group, Each int32
	Max         int32
	Declares    bool
}

// Item is a number of equal things.
type Item struct {
	Family int
	// Need is what each takes, by dimension.
	Need  []int64
	Count int
}

// Box is a box that is bought, with its content.
type Box struct {
	Model int
	// Parts are the content, by item, each item once.
	Parts []Part
}

// Part is a number of one item.
type Part struct{ Item, Count int }

// Solution is what to buy.
type Solution struct {
	Boxes []Box
	// Left is what was not packed, by item.
	Left  []int
	floor *floor
}

// Bound is a price that no set of boxes with the content of these goes below.
func (s *Solution) Bound(boxes []Box) float64 {
	return s.floor.price(contentOf(boxes, len(s.Left)))
}

func (p *Problem) price(boxes []Box) float64 {
	sum := 0.0
	for i := range boxes {
		sum += p.Models[boxes[i].Model].Price
	}
	return sum
}
