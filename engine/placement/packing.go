package placement

import (
	"math/rand/v2"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// packing is the packing problem of the pools of one weight.
type packing struct {
	w     *world
	pools []*supply.Pool
	// models are the boxes of the problem, each standing for the launches that no
	// pod tells apart; launch is the cheapest of each.
	launch []int
	groups []*demand.Group
	shapes []*demand.Shape
	// offered are the launches to choose from.
	offered bitset.Set
	// accepts are the launches of each shape, by term.
	accepts [][]bitset.Set
	cells   *affinity.Cells
	problem pack.Problem
	// lists memoises shortlists.
	lists map[string]*list
}

// newPacking makes the problem of putting the groups on the pools' machines. Groups
// that none of them accepts are left out, and exotic machines but for some that are offered
// in any case.
func (w *world) newPacking(pools []*supply.Pool, groups []*demand.Group, offered bitset.Set) *packing {
	t := &packing{w: w, pools: pools, lists: map[string]*list{}, problem: pack.Problem{Dims: len(w.Dims.Names)}}
	t.addShapes(groups, offered)
	t.divideLabels()
	t.addModels()
	t.addFamilies()
	// They may draw on the same reservations.
	t.problem.Limits = w.Offerings.Left(pools)
	if slices.ContainsFunc(pools, func(p *supply.Pool) bool { return len(p.MinValues) > 0 }) {
		t.problem.Guard = t.meetsMinValues
	}
	return t
}

// addShapes takes the groups that some machine of the packing would have room for, and
// their shapes, as items and families. The others must not have any influence. Exotic machines are offered
// where a group has room on nothing else, those that have room for it, and then to all.
func (t *packing) addShapes(groups []*demand.Group, offered bitset.Set) {
	mine := bitset.New(len(t.w.Offerings.Launches))
	for _, p := range t.pools {
		mine.AddRange(p.Lo, p.Hi)
	}
	mine.And(t.w.Offerings.Available)
	t.offered = mine.Clone()
	t.offered.AndNot(t.w.Offerings.Exotic)
	t.offered.Or(offered)
	affordable := t.w.Offerings.Affordable(t.offered)
	var last *demand.Shape
	var open, generic bitset.Set
	for _, g := range groups {
		if len(g.Pods) == 0 || len(g.Shape.Refused) > 0 {
			continue
		}
		if g.Shape != last {
			last = g.Shape
			open = t.w.Offerings.Accepting(g.Shape.Node).Clone()
			open.And(mine)
			generic = open.Clone()
			generic.And(affordable)
		}
		if !t.w.Offerings.TakesOnSome(generic, g.Need) {
			if !t.w.Offerings.TakesOnSome(open, g.Need) {
				continue
			}
			t.offered.Or(t.w.Offerings.Needed(open, g.Need))
		}
		if n := len(t.shapes); n == 0 || t.shapes[n-1] != last {
			t.shapes, t.accepts = append(t.shapes, last), append(t.accepts, t.w.acceptsOf(last))
		}
		t.groups = append(t.groups, g)
		t.problem.Items = append(t.problem.Items, pack.Item{Family: len(t.shapes) - 1, Need: g.Need, Count: g.Units()})
	}
}

// acceptsOf are the launches that accept a shape, by term.
func (w *world) acceptsOf(sh *demand.Shape) []bitset.Set {
	tolerant := w.Offerings.Accepting(sh.Node)
	out := make([]bitset.Set, len(sh.Terms))
	for i, term := range sh.Terms {
		out[i] = w.Offerings.Index.Satisfying(term)
		out[i].And(tolerant)
	}
	return out
}

// divideLabels prepares for labels that are open on some launch and of which
// different pods want different things.
func (t *packing) divideLabels() {
	var wants []requirement.Requirement
	for _, sh := range t.shapes {
		for _, term := range sh.Terms {
			wants = append(wants, term...)
		}
	}
	if t.cells = affinity.NewCells(wants, t.w.Offerings.Index.Open); t.cells != nil {
		t.problem.Cells = t.cells
	}
}

// addModels makes a model of all launches of a type that no shape tells apart,
// at the price of the cheapest, and leaves out models that are no better than
// another in any way.
func (t *packing) addModels() {
	m := t.w.Offerings
	marks := t.marks()
	type identity struct {
		kind, overhead int32
		mark           uint64
		reservation    int
	}
	seen := map[identity]bool{}
	holds := make([]int64, t.problem.Dims)
	for _, p := range t.pools {
		first := len(t.problem.Models)
		for i := range t.offered.Within(p.Lo, p.Hi) {
			l := &m.Launches[i]
			id := identity{kind: l.Kind, overhead: l.Overhead, mark: marks[i]}
			if r, ok := m.ReservationOf(i); ok {
				id.reservation = r + 1
			}
			if marks[i] == 0 || seen[id] {
				continue
			}
			seen[id] = true
			for d, n := range m.Kinds[l.Kind].Allocatable {
				holds[d] = max(0, n-m.Overheads[l.Overhead].Need[d])
			}
			model := pack.Model{
				Price: l.Offering.Price, Holds: holds,
				Weighs: m.Weighs(t.pools, i), Present: m.Overheads[l.Overhead].Present, Open: t.open(i),
			}
			if !t.dominated(first, i, &model, marks) {
				model.Holds = slices.Clone(holds)
				t.problem.Models, t.launch = append(t.problem.Models, model), append(t.launch, i)
			}
		}
	}
}

// marks tell launches apart by the shapes that accept them; zero is accepted by
// none. Two launches with different shapes have the same mark about once in 2^64
// cases; what is planned is checked again.
func (t *packing) marks() []uint64 {
	out := make([]uint64, len(t.w.Offerings.Launches))
	random := rand.NewPCG(1, 2)
	mark := func(accepted bitset.Set) {
		n := random.Uint64()
		for i := range accepted.All() {
			out[i] ^= n
		}
	}
	for i, sh := range t.shapes {
		for _, accepted := range t.accepts[i] {
			mark(accepted)
		}
		if sh.Base != nil {
			mark(t.w.Offerings.Accepting(sh.Base))
		}
	}
	return out
}

// dominated reports whether a model of the same pool is as good in every way: it
// comes earlier, so it costs no more. Most often it comes shortly before.
func (t *packing) dominated(first, at int, model *pack.Model, marks []uint64) bool {
	for j := len(t.problem.Models) - 1; j >= first; j-- {
		other := &t.problem.Models[j]
		if covers(other.Holds, model.Holds) && marks[t.launch[j]] == marks[at] && covers(model.Weighs, other.Weighs) &&
			slices.Equal(other.Present, model.Present) && slices.Equal(other.Open, model.Open) {
			return true
		}
	}
	return false
}

func covers(a, b []int64) bool {
	for i := range a {
		if a[i] < b[i] {
			return false
		}
	}
	return true
}

// open is the state of a launch's open labels, nil if there are no cells.
func (t *packing) open(i int) bitset.Set {
	if t.cells == nil {
		return nil
	}
	return t.cells.State(func(key string) (requirement.Requirement, bool) {
		r := t.w.Offerings.Index.Says(i, key)
		return r, !affinity.Fixed(r)
	})
}

func (t *packing) addFamilies() {
	for i, sh := range t.shapes {
		f := t.w.Family(sh)
		f.Models = bitset.New(len(t.problem.Models))
		for v, accepted := range t.accepts[i] {
			models := t.modelsOf(accepted)
			f.Models.Or(models)
			if t.cells != nil {
				f.Variants = append(f.Variants, pack.Variant{Models: models, State: t.cells.State(sh.Terms[v].Lookup)})
			}
		}
		if sh.Base != nil {
			f.Loose = t.modelsOf(t.w.Offerings.Accepting(sh.Base))
		}
		t.problem.Families = append(t.problem.Families, f)
	}
}

// modelsOf are the models that some launches stand for.
func (t *packing) modelsOf(launches bitset.Set) bitset.Set {
	out := bitset.New(len(t.launch))
	for m, l := range t.launch {
		if launches.Has(l) {
			out.Add(m)
		}
	}
	return out
}
