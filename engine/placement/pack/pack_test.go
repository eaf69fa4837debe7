package pack

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/enginetest/property"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
)

// problems are small: a few models, families and items, in two dimensions and the
// number of things.
func problems(items, count int) *rapid.Generator[*Problem] {
	return rapid.Custom(func(t *rapid.T) *Problem {
		number := func(lo, hi int, what string) int { return rapid.IntRange(lo, hi).Draw(t, what) }
		p := &Problem{Dims: 3}
		models := number(1, 4, "models")
		for range models {
			p.Models = append(p.Models, Model{
				Price: float64(number(1, 40, "price")) / 10, Weighs: []int64{int64(number(0, 1, "weighs"))},
				Holds: []int64{int64(number(1, 12, "holds")), int64(number(1, 12, "holds")), int64(number(1, 8, "holds"))},
			})
		}
		if rapid.Bool().Draw(t, "limited") {
			p.Limits = []int64{int64(number(0, 3, "limit"))}
		}
		for f := range number(1, 3, "families") {
			family := Family{Models: bitset.New(models)}
			for m := range models {
				if number(0, 3, "accepts") > 0 {
					family.Models.Add(m)
				}
			}
			switch number(0, 4, "rule") {
			case 0: // one to a box
				family.Present, family.Conflicts = []Token{Token(f)}, []Token{Token(f)}
			case 1: // not with the first family
				family.Present, family.Conflicts = []Token{10}, []Token{11}
			case 2:
				family.Present, family.Conflicts = []Token{11}, []Token{10}
			case 3:
				family.Caps = []Cap{{Group: 1, Each: 1, Max: 2, Declares: rapid.Bool().Draw(t, "declares")}}
			}
			p.Families = append(p.Families, family)
		}
		for range number(1, items, "items") {
			p.Items = append(p.Items, Item{
				Family: number(0, len(p.Families)-1, "family"), Count: number(1, count, "count"),
				Need: []int64{int64(number(0, 6, "need")), int64(number(0, 6, "need")), 1},
			})
		}
		return p
	})
}

func TestBoxesHoldTheirContentAndAllRulesAreKept(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		p := problems(6, 20).Draw(t, "problem")
		s := Solve(p)
		packed := make([]int, len(p.Items))
		weigh := int64(0)
		for i := range s.Boxes {
			b := &s.Boxes[i]
			weigh += p.Models[b.Model].Weighs[0]
			if !legal(p, b) {
				t.Errorf("box %+v is not possible", b)
			}
			for _, part := range b.Parts {
				packed[part.Item] += part.Count
			}
		}
		for i := range p.Items {
			if packed[i]+s.Left[i] != p.Items[i].Count {
				t.Errorf("item %d: %d packed and %d left of %d", i, packed[i], s.Left[i], p.Items[i].Count)
			}
			if s.Left[i] > 0 && p.Limits == nil && fitsAlone(p, i) {
				t.Errorf("item %d is left though it fits into a box", i)
			}
		}
		if p.Limits != nil && weigh > p.Limits[0] {
			t.Errorf("the boxes weigh %d, the limit is %d", weigh, p.Limits[0])
		}
		if bound := s.Bound(s.Boxes); p.price(s.Boxes) < bound*(1-1e-9) {
			t.Errorf("price %g is below the bound %g", p.price(s.Boxes), bound)
		}
	})
}

// Ten things of which no two share a box, and thirty others: in the linear program 3 1/3
// large boxes and 6 2/3 small ones.
func TestTheBoundKnowsHowManyBoxesThereHaveToBe(t *testing.T) {
	one := func(holds int64, price float64) Model { return Model{Price: price, Holds: []int64{holds}} }
	all := bitset.New(2)
	all.Add(0)
	all.Add(1)
	for _, alone := range []Family{
		{Models: all, Present: []Token{3}, Conflicts: []Token{3}},
		{Models: all, Caps: []Cap{{Group: 1, Each: 1, Max: 1, Declares: true}}},
	} {
		s := Solve(&Problem{
			Dims: 1, Models: []Model{one(10, 0.5), one(1, 0.1)}, Families: []Family{alone, {Models: all}},
			Items: []Item{{Family: 0, Count: 10, Need: []int64{1}}, {Family: 1, Count: 30, Need: []int64{1}}},
		})
		if bound := s.Bound(s.Boxes); math.Abs(bound-7.0/3) > 1e-3 {
			t.Errorf("bound %g of %d boxes", bound, len(s.Boxes))
		}
	}
}

// legal adds up a box on its own.
func legal(p *Problem, b *Box) bool {
	m := &p.Models[b.Model]
	free := slices.Clone(m.Holds)
	var families []int
	for _, part := range b.Parts {
		item := &p.Items[part.Item]
		for range part.Count {
			families = append(families, item.Family)
		}
		for d, n := range item.Need {
			free[d] -= n * int64(part.Count)
			if free[d] < 0 {
				return false
			}
		}
	}
	members, declared := 0, false
	for i, f := range families {
		if !p.Families[f].Models.Has(b.Model) {
			return false
		}
		for j, g := range families {
			if i != j && clash(p.Families[g].Present, p.Families[f].Conflicts) {
				return false
			}
		}
		for _, c := range p.Families[f].Caps {
			members, declared = members+1, declared || c.Declares
		}
	}
	return !declared || members <= 2
}

func fitsAlone(p *Problem, item int) bool {
	for m := range p.Models {
		if legal(p, &Box{Model: m, Parts: []Part{{item, 1}}}) {
			return true
		}
	}
	return false
}

// cheapest tries everything: each thing into each box that is open, or into a new
// one.
func cheapest(p *Problem) float64 {
	var things []int
	for i := range p.Items {
		if fitsAlone(p, i) {
			for range p.Items[i].Count {
				things = append(things, i)
			}
		}
	}
	best := math.Inf(1)
	var boxes []Box
	var try func(next int, price float64)
	try = func(next int, price float64) {
		if price >= best {
			return
		}
		if next == len(things) {
			best = price
			return
		}
		for i := range boxes {
			old := boxes[i].Parts
			boxes[i].Parts = append(slices.Clone(old), Part{things[next], 1})
			if legal(p, &boxes[i]) {
				try(next+1, price)
			}
			boxes[i].Parts = old
		}
		for m := range p.Models {
			b := Box{Model: m, Parts: []Part{{things[next], 1}}}
			if legal(p, &b) {
				boxes = append(boxes, b)
				try(next+1, price+p.Models[m].Price)
				boxes = boxes[:len(boxes)-1]
			}
		}
	}
	try(0, 0)
	return best
}

func TestTheBoundIsBelowTheBestThatThereIsAndThePriceIsNot(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		p := problems(3, 2).Draw(t, "problem")
		p.Limits = nil
		best := cheapest(p)
		s := Solve(p)
		if bound := s.Bound(s.Boxes); bound > best*(1+1e-9) {
			t.Errorf("the bound is %g, the best costs %g", bound, best)
		}
		if price := p.price(s.Boxes); price < best*(1-1e-9) {
			t.Errorf("the price is %g, the best %g", price, best)
		}
	})
}

func TestManyThingsOfFewKindsArePackedByWholeContents(t *testing.T) {
	models := bitset.New(2)
	models.AddRange(0, 2)
	p := &Problem{
		Dims: 1, Families: []Family{{Models: models}},
		Models: []Model{{Price: 8, Holds: []int64{8}}, {Price: 10, Holds: []int64{10}}},
		Items:  []Item{{Need: []int64{2}, Count: 50}, {Need: []int64{5}, Count: 40}, {Need: []int64{6}, Count: 30}},
	}
	// 20 boxes of 5 + 5, and of the smaller model 30 of 6 + 2 and 5 of four 2: all full.
	if price := p.price(Solve(p).Boxes); price != 480 {
		t.Errorf("the price is %g, want 480", price)
	}
}

func TestOfEqualPricesTheLargestBoxesAreBought(t *testing.T) {
	models := bitset.New(3)
	models.AddRange(0, 3)
	p := &Problem{
		Dims: 1, Families: []Family{{Models: models}},
		Models: []Model{{Price: 1, Holds: []int64{1}}, {Price: 4, Holds: []int64{4}}, {Price: 16, Holds: []int64{16}}},
		Items:  []Item{{Need: []int64{1}, Count: 41}},
	}
	if s := Solve(p); p.price(s.Boxes) != 41 || len(s.Boxes) != 5 {
		t.Errorf("%d boxes for %g, want 5 for 41", len(s.Boxes), p.price(s.Boxes))
	}
}

// Ten things of which no two share a box, and twenty others, which would fill one large box
// and leave the boxes of the rest half empty.
func TestWhatIsInALargeBoxFillsTheRoomThatOthersLeave(t *testing.T) {
	models := bitset.New(3)
	models.AddRange(0, 3)
	p := &Problem{
		Dims: 1, Families: []Family{{Models: models, Present: []Token{3}, Conflicts: []Token{3}}, {Models: models}},
		Models: []Model{{Price: 2, Holds: []int64{2}}, {Price: 8, Holds: []int64{8}}, {Price: 16, Holds: []int64{16}}},
		Items:  []Item{{Family: 1, Need: []int64{1}, Count: 20}},
	}
	for range 10 { // each a kind of its own, so that there are few things of a kind
		p.Items = append(p.Items, Item{Family: 0, Need: []int64{1}, Count: 1})
	}
	if s := Solve(p); p.price(s.Boxes) > 32 {
		t.Errorf("the price is %g, want 32: %v", p.price(s.Boxes), s.Boxes)
	}
}

// A box of 10 holds two things of 4 or one of 7; divided, all of it would be used.
func TestTheBoundKnowsThatThingsOfFewKindsAreWhole(t *testing.T) {
	one := bitset.New(1)
	one.Add(0)
	s := Solve(&Problem{
		Dims: 1, Families: []Family{{Models: one}}, Models: []Model{{Price: 1, Holds: []int64{10}}},
		Items: []Item{{Need: []int64{4}, Count: 60}, {Need: []int64{7}, Count: 30}},
	})
	if bound := s.Bound(s.Boxes); math.Abs(bound-60) > 1e-3 {
		t.Errorf("the bound is %g, want 60", bound)
	}
}

// The bound is about plans with fewer models to choose from as well.
func TestNoPackingOfManyThingsOfFewKindsIsBelowTheBound(t *testing.T) {
	raised := 0
	property.Check(t, func(t *rapid.T) {
		p := problems(5, 60).Draw(t, "problem")
		p.Limits = nil
		for f := range p.Families {
			p.Families[f] = Family{Models: p.Families[f].Models}
		}
		s := Solve(p)
		bound := s.Bound(s.Boxes)
		if s.floor.contents != nil {
			raised++
		}
		for m := range p.Models { // without one of the models
			some := *p
			some.Families = slices.Clone(p.Families)
			for f := range some.Families {
				models := p.Families[f].Models.Clone()
				models.Remove(m)
				some.Families[f] = Family{Models: models}
			}
			o := Solve(&some)
			if slices.Equal(o.Left, s.Left) && p.price(o.Boxes) < bound*(1-1e-9) {
				t.Errorf("without model %d the price is %g, and the bound %g", m, p.price(o.Boxes), bound)
			}
		}
		if price := p.price(s.Boxes); price < bound*(1-1e-9) {
			t.Errorf("the price is %g, the bound %g", price, bound)
		}
	})
	if raised == 0 {
		t.Error("no bound was by whole contents")
	}
}
