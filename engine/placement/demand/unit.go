package demand

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// Member is a number of equal pods in a unit.
type Member struct {
	Shape *Shape
	Need  []int64
	Count int
}

// Unit is the shape of pods that share a node and are placed as one: it demands what
// any of them demands, but for the rules that they keep by being together. ok is false
// if such pods cannot share a node.
func (b *Batch) Unit(members []Member, kept func(rule int) bool) (unit *Shape, ok bool) {
	sh := &Shape{Node: members[0].Shape.Node, Members: members}
	families := make([]pack.Family, len(members))
	for i, m := range members {
		families[i] = b.Family(m.Shape)
	}
	for i, m := range members {
		if i > 0 {
			sh.Node = sh.And(m.Shape.Node)
		}
		for j, other := range members {
			if (i != j || m.Count > 1) && (families[i].Clashes(&families[j]) || b.PodTopology.repels(m.Shape, other.Shape)) {
				return nil, false
			}
		}
		sh.present, sh.conflicts = union(sh.present, m.Shape.present), union(sh.conflicts, m.Shape.conflicts)
		for _, r := range m.Shape.Memberships {
			sh.play(r, kept, b.PodTopology.Counts[r.Rule].Kind == topology.Affinity)
		}
		sh.Preferences = append(sh.Preferences, m.Shape.Preferences...)
	}
	slices.SortFunc(sh.Memberships, func(x, y Membership) int { return x.Rule - y.Rule })
	slices.SortStableFunc(sh.Preferences, func(x, y Preference) int { return y.Weight - x.Weight })
	return b.Intern(sh), len(sh.Terms) > 0
}

// Beside is a shape that runs only on nodes that a DaemonSet's pods accept as well,
// and there keeps a rule, which is about those pods. ok is false if there are none.
func (b *Batch) Beside(from *Shape, rule int, daemon *Node) (beside *Shape, ok bool) {
	sh := *from
	sh.Node = from.And(daemon)
	if l := b.PodTopology.Counts[rule]; !l.PerNode() {
		sh.Node = sh.Require(requirement.NewSet(requirement.Must(l.Key, requirement.Exists)))
	}
	sh.Memberships = nil
	for _, r := range from.Memberships {
		r.Declares = r.Declares && r.Rule != rule
		if r.Selected || r.Rule != rule {
			sh.Memberships = append(sh.Memberships, r)
		}
	}
	return b.Intern(&sh), len(sh.Terms) > 0
}

// repels reports whether pods of a shape declare anti-affinity to those of another.
func (c *PodTopology) repels(one, other *Shape) bool {
	return slices.ContainsFunc(one.Memberships, func(r Membership) bool {
		return r.Declares && c.Counts[r.Rule].Kind == topology.AntiAffinity && other.Selected(r.Rule)
	})
}

// play adds a member's part in a rule. Of affinity, members that come after one which requires it
// are not there when that is bound.
func (sh *Shape) play(r Membership, kept func(rule int) bool, inTurn bool) {
	if kept(r.Rule) {
		r.Declares = false
		if !r.Selected {
			return
		}
	}
	i := slices.IndexFunc(sh.Memberships, func(x Membership) bool { return x.Rule == r.Rule })
	if i < 0 {
		sh.Memberships = append(sh.Memberships, r)
		return
	}
	sh.Memberships[i].Selected = sh.Memberships[i].Selected || r.Selected && !(inTurn && sh.Memberships[i].Declares)
	sh.Memberships[i].Declares = sh.Memberships[i].Declares || r.Declares
	sh.Memberships[i].Weight = max(sh.Memberships[i].Weight, r.Weight)
}

// Record enters n units of the shape into a domain of one of its rules.
func (sh *Shape) Record(l *topology.DomainCounts, domain int, r Membership, n int) {
	if len(sh.Members) == 0 {
		l.Record(domain, r.Part, n)
		return
	}
	for _, m := range sh.Members {
		for _, x := range m.Shape.Memberships {
			if x.Rule == r.Rule {
				l.Record(domain, topology.Part{Declares: x.Declares && r.Declares, Selected: x.Selected}, n*m.Count)
			}
		}
	}
}

// Playing is how many pods of a unit of the shape take part in a rule.
func (sh *Shape) Playing(rule int) int {
	if len(sh.Members) == 0 {
		return 1
	}
	n := 0
	for _, m := range sh.Members {
		if slices.ContainsFunc(m.Shape.Memberships, func(r Membership) bool { return r.Rule == rule }) {
			n += m.Count
		}
	}
	return n
}

func union(a, b []int32) []int32 {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
