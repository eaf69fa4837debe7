package assign

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// cell is where pods of a group can be: a value for each of the labels over which
// the group is divided.
type cell struct {
	// values are by label; nowhere stands for a machine without the label.
	values []string
	// free is how many of the pods fit on machines that exist.
	free int
	// cost is about what new machines for all of the pods would cost there, in $/h;
	// infinite where none can be launched.
	cost float64
}

// nowhere is not the value of any label.
const nowhere = "\x00"

// unbounded is more pods than any plan has.
const unbounded = math.MaxInt32

// domains finds out where groups can go, binds groups to that, and counts pods by domain: those
// that run, and those that a plan puts somewhere. It remembers what it found: by what shapes say
// about nodes, and the machines that each rule counts.
type domains struct {
	*supply.Supply
	offered map[offersKey]*offers
	counted map[countedBy]bitset.Set
}

// offers are the launches that accept a shape, by cell.
type offers struct {
	cells    [][]string
	launches [][]int32
}

type offersKey struct{ node, keys string }

// offersOf finds the launches for a shape in each cell, the cheapest first.
func (s *domains) offersOf(n *demand.Node, keys []string) *offers {
	at := offersKey{n.Key(), strings.Join(keys, ",")}
	if known, ok := s.offered[at]; ok {
		return known
	}
	out := &offers{}
	index := map[string]int{}
	for i := range s.Offerings.Selling(n).All() {
		for cell := range cellsAt(keys, func(key string) []string { return values(s.Offerings.Index.Says(i, key)) }) {
			name := strings.Join(cell, ",")
			c, ok := index[name]
			if !ok {
				c = len(out.cells)
				index[name] = c
				out.cells, out.launches = append(out.cells, slices.Clone(cell)), append(out.launches, nil)
			}
			out.launches[c] = append(out.launches[c], int32(i))
		}
	}
	for _, list := range out.launches {
		slices.SortStableFunc(list, func(x, y int32) int {
			return cmp.Compare(s.Offerings.Launches[x].Offering.Price, s.Offerings.Launches[y].Offering.Price)
		})
	}
	s.offered[at] = out
	return out
}

// Domains are those of a label in which nodes that will do can come to be.
func (s *domains) Domains(n *demand.Node, key string) []string {
	var out []string
	for _, values := range s.offersOf(n, []string{key}).cells {
		if values[0] != nowhere {
			out = append(out, values[0])
		}
	}
	return out
}

// values are those that a statement about a label leaves: nowhere for a label that may be
// missing, none if there is no end of them.
func values(r requirement.Requirement) []string {
	switch {
	case r.Finite() && len(r.Values()) > 0:
		return r.Values()
	case r.Absent():
		return []string{nowhere}
	}
	return nil
}

// cellsAt are all combinations of the values that labels may have. What it yields
// is reused.
func cellsAt(keys []string, of func(key string) []string) func(yield func([]string) bool) {
	cell := make([]string, len(keys))
	return func(yield func([]string) bool) {
		var choose func(i int) bool
		choose = func(i int) bool {
			if i == len(keys) {
				return yield(cell)
			}
			for _, v := range of(keys[i]) {
				cell[i] = v
				if !choose(i + 1) {
					return false
				}
			}
			return true
		}
		choose(0)
	}
}

// cellsOf lists the cells for a group: those with machines that exist first, then
// the cheapest, then by name.
func (s *domains) cellsOf(g *demand.Group, keys []string) []cell {
	index := map[string]int{}
	var out []cell
	add := func(values []string) *cell {
		name := strings.Join(values, ",")
		i, ok := index[name]
		if !ok {
			i = len(out)
			index[name], out = i, append(out, cell{values: slices.Clone(values), cost: math.Inf(1)})
		}
		return &out[i]
	}
	s.addExisting(g, keys, add)
	offers := s.offersOf(g.Shape.Node, keys)
	for i, values := range offers.cells {
		if cost := s.costOf(g, offers.launches[i]); cost < math.Inf(1) {
			add(values).cost = cost
		}
	}
	slices.SortFunc(out, func(x, y cell) int {
		return cmp.Or(cmp.Compare(min(y.free, 1), min(x.free, 1)), cmp.Compare(x.cost, y.cost), slices.Compare(x.values, y.values))
	})
	return out
}

// addExisting adds the cells of machines that have room for a group's pods and
// that are certain to be there.
func (s *domains) addExisting(g *demand.Group, keys []string, add func([]string) *cell) {
	if len(s.Machines.List) == 0 {
		return
	}
	f := s.Family(g.Shape)
	for i := range s.Machines.Accepting(g.Shape.Node).All() {
		m := s.Machines.List[i]
		for cell := range cellsAt(keys, func(key string) []string { return certainly(m, key) }) {
			if room := m.Load.Room(&f, g.Need, g.Units()); room > 0 {
				c := add(cell)
				c.free = min(c.free+room, unbounded)
			}
		}
	}
}

// certainly is the domain of a machine, empty if it is not certain.
func certainly(m *supply.Machine, key string) []string {
	if r := m.Says(key); affinity.Fixed(r) {
		return values(r)
	}
	return nil
}

// costOf is about what the pods cost on the best of the launches: at least a machine, and
// beyond that the part of machines that they fill. It is infinite where none has room.
func (s *domains) costOf(g *demand.Group, launches []int32) float64 {
	pods := float64(len(g.Pods))
	best := math.Inf(1)
	for _, i := range launches {
		l := &s.Offerings.Launches[i]
		if l.Offering.Price >= best {
			break
		}
		if !s.Offerings.Takes(g.Need, l) {
			continue
		}
		share := 0.0
		for d, n := range g.Need {
			if n > 0 {
				share = max(share, float64(n)/float64(s.Offerings.Kinds[l.Kind].Allocatable[d]-s.Offerings.Overheads[l.Overhead].Need[d]))
			}
		}
		best = min(best, l.Offering.Price*max(1, pods*share))
	}
	return best
}

// takenNow reports whether a machine that exists has room for one of a group.
func (s *domains) takenNow(g *demand.Group) bool {
	f := s.Family(g.Shape)
	for i := range s.Machines.Accepting(g.Shape.Node).All() {
		if s.Machines.List[i].Load.Room(&f, g.Need, 1) > 0 {
			return true
		}
	}
	return false
}
