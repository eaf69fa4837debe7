package demand

import (
	"maps"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/topology"
)

// Relaxed tells the preferences that are not followed, by the key of the shape that
// has them and in its order. Shapes that it does not know follow all of theirs.
type Relaxed map[string][]bool

// Of reports whether a shape gives up its i-th preference.
func (w Relaxed) Of(sh *Shape, i int) bool {
	list := w[sh.Key]
	return i < len(list) && list[i]
}

// Follows reports whether a shape follows some of its preferences.
func (sh *Shape) Follows(w Relaxed) bool {
	for i := range sh.Preferences {
		if !w.Of(sh, i) {
			return true
		}
	}
	return false
}

// Relax waives the lightest preference that a shape still follows, or all.
func (sh *Shape) Relax(w Relaxed, all bool) {
	if w[sh.Key] == nil {
		w[sh.Key] = make([]bool, len(sh.Preferences))
	}
	for i := range slices.Backward(sh.Preferences) {
		if !w[sh.Key][i] {
			w[sh.Key][i] = true
			if !all {
				return
			}
		}
	}
}

// Without is w with the k-th preference taken up again by shapes that gave up
// several; nil if there are none. more is false if no shape has so many.
func (w Relaxed) Without(shapes []*Shape, k int) (out Relaxed, more bool) {
	for _, sh := range shapes {
		if k >= len(sh.Preferences) {
			continue
		}
		more = true
		given := 0
		for i := range sh.Preferences {
			if w.Of(sh, i) {
				given++
			}
		}
		if given < 2 || !w.Of(sh, k) {
			continue
		}
		if out == nil {
			out = maps.Clone(w)
		}
		out[sh.Key] = slices.Clone(w[sh.Key])
		out[sh.Key][k] = false
	}
	return out, more
}

// Prefer leaves the shapes with the preferences that are followed, none if relaxed
// is nil, and with their parts in the rules that are then left. It returns the
// shapes that prefer something, as they were. It has to come before anything looks
// at the shapes.
func (b *Batch) Prefer(w Relaxed) []*Shape {
	var asked []*Shape
	for _, sh := range b.Shapes {
		if len(sh.Preferences) > 0 && len(sh.Refused) == 0 {
			asked = append(asked, sh)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	if w == nil {
		w = Relaxed{}
		for _, sh := range asked {
			sh.Relax(w, true)
		}
	}
	live := b.live(w)
	narrowed := map[*Shape]*Shape{}
	for _, g := range b.Groups {
		sh, ok := narrowed[g.Shape]
		if !ok {
			sh = b.narrow(g.Shape, w, live)
			narrowed[g.Shape] = sh
		}
		g.Shape = sh
	}
	b.Order()
	b.join()
	return asked
}

// live are the rules that matter: some pod requires them, or follows them.
func (b *Batch) live(w Relaxed) map[int]bool {
	live := map[int]bool{}
	if b.PodTopology != nil {
		for rule := range b.PodTopology.Counts {
			live[rule] = b.PodTopology.Wanted[rule] || b.PodTopology.guarded[rule]
		}
	}
	for _, sh := range b.Shapes {
		for i := range sh.Preferences {
			if p := &sh.Preferences[i]; p.Rule != aboutNode && !w.Of(sh, i) {
				live[p.Rule] = true
			}
		}
	}
	return live
}

func (b *Batch) narrow(sh *Shape, w Relaxed, live map[int]bool) *Shape {
	out := *sh
	out.Preferences, out.Memberships = nil, nil
	followed := map[int]bool{}
	for i, p := range sh.Preferences {
		if !w.Of(sh, i) {
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
		out := sh.copied()
		out.Node = sh.And(p.Node)
		return out
	}
	if l := c.Counts[p.Rule]; !l.PerNode() || l.Kind == topology.Affinity {
		return nil
	}
	out := sh.copied()
	out.Memberships = slices.Clone(sh.Memberships)
	for i := range out.Memberships {
		if r := &out.Memberships[i]; r.Rule == p.Rule {
			r.Declares, r.Weight = true, 0
		}
	}
	return out
}

// copied is a copy of a shape that remembers what it was before it was bound.
func (sh *Shape) copied() *Shape {
	out := *sh
	if out.Base == nil {
		out.Base = sh
	}
	return &out
}

// Bare is what a shape demands of nodes, as it was before it was bound to a domain.
// Shapes that are bound alike are one, whatever workloads they were bound for.
func (sh *Shape) Bare() *Shape {
	if sh.bare == nil {
		sh.bare = &Shape{Node: sh.Node}
		sh.bare.identify(nil)
	}
	return sh.bare
}
