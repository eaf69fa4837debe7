package pack

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
)

// classes are the items by what they need, whatever rules they have beyond the dimensions
// that stand for groups. Models of a kind hold the same at the same price, as those of
// several zones do; a class is of one need and of one set of kinds.
type classes struct {
	s *solver
	// models are those of each kind, items those of each class, the ones with the least
	// choice of models first.
	models [][]int
	items  [][]int32
	// p has a model for each kind and an item for each class.
	p Problem
}

// mostClasses bounds the master program.
const mostClasses = 100

// classed packs classes by patterns, and makes of each box one with items of these classes, as
// far as their rules let it. The rest is packed greedily. It is nil where classes are many, or not
// much fewer than items.
func (s *solver) classed() []Box {
	c := s.classes()
	if len(c.items) > mostClasses || 2*len(c.items) > len(slices.Concat(c.items...)) {
		return nil
	}
	of := newSolver(newInstance(&c.p, s.measured).relax())
	boxes := of.repack(of.draft(), mostClasses)
	slices.SortStableFunc(boxes, func(a, b Box) int { return cmp.Compare(of.costs(b.Model), of.costs(a.Model)) })
	left, limits := slices.Clone(s.counts), slices.Clone(s.p.Limits)
	var out []Box
	for i := range boxes {
		if b, ok := c.realize(&boxes[i], left, limits); ok {
			out = append(out, b)
		}
	}
	return append(out, s.greedy(left, limits)...)
}

// classes divides models by kind and items by class.
func (s *solver) classes() *classes {
	c := &classes{s: s, p: Problem{Dims: s.p.Dims}}
	kinds := numbers{}
	kind := make([]int, len(s.p.Models))
	for m := range s.p.Models {
		model := &s.p.Models[m]
		if kind[m] = kinds.of(amounts(math.Float64bits(model.Price), model.Holds)); kind[m] == len(c.models) {
			c.models = append(c.models, nil)
			c.p.Models = append(c.p.Models, Model{Price: model.Price, Holds: model.Holds})
		}
		c.models[kind[m]] = append(c.models[kind[m]], m)
	}
	families, family := numbers{}, make([]int, len(s.p.Families))
	for f := range s.p.Families {
		models := bitset.New(len(c.models))
		for m := range s.p.Families[f].Models.All() {
			models.Add(kind[m])
		}
		if family[f] = families.of(string(models.Bytes())); family[f] == len(c.p.Families) {
			c.p.Families = append(c.p.Families, Family{Models: models})
		}
	}
	items := numbers{}
	for i, n := range s.counts {
		if n == 0 {
			continue
		}
		f, need := family[s.p.Items[i].Family], s.need(int32(i))
		of := items.of(amounts(uint64(f), need))
		if of == len(c.items) {
			c.items = append(c.items, nil)
			c.p.Items = append(c.p.Items, Item{Family: f, Need: need})
		}
		c.items[of] = append(c.items[of], int32(i))
		c.p.Items[of].Count += n
	}
	for _, list := range c.items {
		slices.SortStableFunc(list, func(a, b int32) int {
			return cmp.Compare(s.familyOf(a).Models.Len(), s.familyOf(b).Models.Len())
		})
	}
	return c
}

// numbers number keys in the order in which they are seen first.
type numbers map[string]int

func (n numbers) of(key string) int {
	if _, ok := n[key]; !ok {
		n[key] = len(n)
	}
	return n[key]
}

func amounts(first uint64, rest []int64) string {
	key := binary.AppendUvarint(nil, first)
	for _, n := range rest {
		key = binary.AppendVarint(key, n)
	}
	return string(key)
}

// realize makes of a box of classes one with items that are left, and takes them from there.
// It is false if their rules allow none with all of the content.
func (c *classes) realize(b *Box, left []int, limits []int64) (Box, bool) {
	for _, m := range c.models[b.Model] {
		if affords(limits, &c.s.p.Models[m], 1) == 0 {
			continue
		}
		parts := c.content(b, m, left)
		out := Box{Model: m, Parts: parts}
		if parts == nil || c.s.p.Guard != nil && !c.s.p.Guard(&out) {
			continue
		}
		buy(limits, &c.s.p.Models[m], 1)
		for _, part := range parts {
			left[part.Item] -= part.Count
		}
		return out, true
	}
	return Box{}, false
}

// content is that of a box of classes in items for a model, nil if there is none.
func (c *classes) content(b *Box, model int, left []int) []Part {
	var out []Part
	var l Load
	l.Reset(&c.s.p.Models[model])
	for _, part := range b.Parts {
		missing := part.Count
		for _, i := range c.items[part.Item] {
			family, need := c.s.familyOf(i), c.s.need(i)
			state, ok := l.variant(family, model, c.s.p.Cells)
			if missing == 0 || left[i] == 0 || !family.Models.Has(model) || !ok {
				continue
			}
			if n := l.Room(family, need, min(missing, left[i])); n > 0 {
				l.Open.And(state)
				l.Add(family, need, n)
				out, missing = append(out, Part{int(i), n}), missing-n
			}
		}
		if missing > 0 {
			return nil
		}
	}
	slices.SortFunc(out, func(a, b Part) int { return cmp.Compare(a.Item, b.Item) })
	return out
}
