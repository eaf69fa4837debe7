package demand

import (
	"maps"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/topology"
)

// Followed are the preferences that a plan follows, by the keys of the shapes that have them: a
// bit for each, the heaviest the lowest. Of a shape it follows 64 at most.
type Followed map[string]uint64

// Has reports whether the i-th preference of a shape is followed.
func (f Followed) Has(sh *Shape, i int) bool { return f[sh.Key]>>i&1 == 1 }

// With is f and the i-th preference of each of some shapes.
func (f Followed) With(shapes []*Shape, i int) Followed {
	out := Followed{}
	maps.Copy(out, f)
	for _, sh := range shapes {
		if i < len(sh.Preferences) {
			out[sh.Key] |= 1 << i
		}
	}
	return out
}

// Prefer leaves the shapes with the preferences that are followed, and with their
// parts in the rules that are then left. It returns the shapes that prefer
// something, as they were. It has to come before anything looks at the shapes.
func (b *Batch) Prefer(f Followed) []*Shape {
	var asked []*Shape
	for _, g := range b.Groups {
		if len(g.Shape.Preferences) > 0 && len(g.Shape.Refused) == 0 {
			asked = append(asked, g.Shape)
		}
	}
	asked = slices.Compact(asked) // groups of one shape follow each other
	if len(asked) == 0 {
		return nil
	}
	live := b.live(f)
	var last, narrowed *Shape
	for _, g := range b.Groups {
		if g.Shape != last {
			last, narrowed = g.Shape, b.narrow(g.Shape, f, live)
		}
		g.Shape = narrowed
	}
	Sort(b.Groups)
	b.join()
	return asked
}

// live are the rules that matter: some pod requires them, or follows them. Without the others,
// Deployments that differ only in the spreads that all have by default are one group.
func (b *Batch) live(f Followed) map[int]bool {
	live := map[int]bool{}
	if b.PodTopology != nil {
		maps.Copy(live, b.PodTopology.live)
	}
	for _, g := range b.Groups {
		for i, p := range g.Shape.Preferences {
			if p.Rule != aboutNode && f.Has(g.Shape, i) {
				live[p.Rule] = true
			}
		}
	}
	return live
}

func (b *Batch) narrow(sh *Shape, f Followed, live map[int]bool) *Shape {
	out := *sh
	out.Preferences, out.Memberships = nil, nil
	followed := map[int]bool{}
	for i, p := range sh.Preferences {
		if f.Has(sh, i) {
			out.Preferences = append(out.Preferences, p)
			followed[p.Rule] = true
		}
	}
	for _, r := range sh.Memberships {
		if !followed[r.Rule] {
			r.Weight = 0
		}
		if live[r.Rule] && (r.Declares || r.Selected || r.Weight > 0) {
			out.Memberships = append(out.Memberships, r)
		}
	}
	return b.Intern(&out)
}

// Requiring is a shape that requires what it prefers; nil if that is nothing that
// a machine can be chosen for. Preferences about domains other than nodes have
// found their domain before, and which pods one node will have is not known.
func (sh *Shape) Requiring(p *Preference, c *PodTopology) *Shape {
	if p.Rule == aboutNode {
		out := sh.Unbound()
		out.Node = sh.And(p.Node)
		return out
	}
	if l := c.Counts[p.Rule]; !l.PerNode() || l.Kind == topology.Affinity {
		return nil
	}
	out := sh.Unbound()
	out.Memberships = slices.Clone(sh.Memberships)
	for i := range out.Memberships {
		if r := &out.Memberships[i]; r.Rule == p.Rule {
			r.Declares, r.Weight = true, 0
		}
	}
	return out
}

// Unbound is a copy of a shape, to be bound to a domain, that knows what it demanded of nodes
// before.
func (sh *Shape) Unbound() *Shape {
	out := *sh
	if out.Base == nil {
		out.Base = sh.Node
	}
	return &out
}
