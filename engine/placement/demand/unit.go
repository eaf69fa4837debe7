package demand

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/placement/volumes"
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
	sh := &Shape{Terms: members[0].Shape.Terms, Tolerations: members[0].Shape.Tolerations, members: members}
	families := make([]pack.Family, len(members))
	for i, m := range members {
		families[i] = b.Family(m.Shape)
	}
	for i, m := range members {
		if i > 0 {
			sh.Terms = volumes.Combine(sh.Terms, m.Shape.Terms)
			sh.tolerateAlso(m.Shape.Tolerations)
		}
		for j, other := range members {
			if (i != j || m.Count > 1) && (clash(&families[i], &families[j]) || b.PodTopology.repels(m.Shape, other.Shape)) {
				return nil, false
			}
		}
		sh.ports, sh.Clashes = union(sh.ports, m.Shape.ports), union(sh.Clashes, m.Shape.Clashes)
		sh.disks, sh.diskClashes = union(sh.disks, m.Shape.disks), union(sh.diskClashes, m.Shape.diskClashes)
		for _, r := range m.Shape.Memberships {
			sh.play(r, kept)
		}
		sh.Preferences = append(sh.Preferences, m.Shape.Preferences...)
		sh.Paused = append(sh.Paused, m.Shape.Paused...)
	}
	slices.SortFunc(sh.Memberships, func(x, y Membership) int { return x.Rule - y.Rule })
	slices.SortStableFunc(sh.Preferences, func(x, y Preference) int { return y.Weight - x.Weight })
	return b.Intern(sh), len(sh.Terms) > 0
}

// Beside is a shape that runs only on nodes that a DaemonSet's pods accept as well,
// and there keeps a rule, which is about those pods. ok is false if there are none.
func (b *Batch) Beside(from *Shape, rule int, terms []requirement.Set, tolerations []corev1.Toleration) (beside *Shape, ok bool) {
	sh := *from
	if l := b.PodTopology.Counts[rule]; !l.PerNode() {
		terms = volumes.Combine(terms, []requirement.Set{requirement.NewSet(requirement.Must(l.Key, requirement.Exists))})
	}
	sh.Terms = nil
	if len(terms) > 0 {
		sh.Terms = volumes.Combine(from.Terms, terms)
	}
	sh.others = slices.Clone(from.others)
	sh.tolerateAlso(tolerations)
	sh.Memberships = slices.DeleteFunc(slices.Clone(from.Memberships), func(r Membership) bool { return r.Rule == rule && !r.Selected })
	for i := range sh.Memberships {
		if sh.Memberships[i].Rule == rule {
			sh.Memberships[i].Declares = false
		}
	}
	return b.Intern(&sh), len(sh.Terms) > 0
}

// clash reports whether a box with one of a family takes none of another.
func clash(one, other *pack.Family) bool {
	return slices.ContainsFunc(one.Present, func(t pack.Token) bool { return slices.Contains(other.Conflicts, t) })
}

// repels reports whether pods of a shape declare anti-affinity to those of another.
func (c *PodTopology) repels(one, other *Shape) bool {
	return slices.ContainsFunc(one.Memberships, func(r Membership) bool {
		return r.Declares && c.Counts[r.Rule].Kind == topology.AntiAffinity && other.Selected(r.Rule)
	})
}

// play adds a member's part in a rule.
func (sh *Shape) play(r Membership, kept func(rule int) bool) {
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
	sh.Memberships[i].Declares = sh.Memberships[i].Declares || r.Declares
	sh.Memberships[i].Selected = sh.Memberships[i].Selected || r.Selected
	sh.Memberships[i].Weight = max(sh.Memberships[i].Weight, r.Weight)
}

// tolerateAlso has the nodes' taints tolerated by one more list.
func (sh *Shape) tolerateAlso(list []corev1.Toleration) {
	same := func(o []corev1.Toleration) bool { return slices.EqualFunc(o, list, equalTolerations) }
	if !same(sh.Tolerations) && !slices.ContainsFunc(sh.others, same) {
		sh.others = append(sh.others, list)
	}
}

func equalTolerations(a, b corev1.Toleration) bool {
	return a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect
}

// Untolerated finds a taint that the shape does not tolerate.
func (sh *Shape) Untolerated(list []corev1.Taint) (corev1.Taint, bool) {
	if taint, kept := taints.Untolerated(list, sh.Tolerations); kept {
		return taint, true
	}
	for _, other := range sh.others {
		if taint, kept := taints.Untolerated(list, other); kept {
			return taint, true
		}
	}
	return corev1.Taint{}, false
}

// WriteAccepted writes down which taints the shape tolerates, and from which pools it
// gets no machine.
func (sh *Shape) WriteAccepted(b *strings.Builder) {
	for _, p := range sh.Paused {
		b.WriteString(p.Pool)
		b.WriteByte(0)
	}
	for _, list := range append([][]corev1.Toleration{sh.Tolerations}, sh.others...) {
		for i := range list {
			b.WriteString(list[i].String())
		}
		b.WriteByte(0)
	}
}

// Record enters n units of the shape into a domain of one of its rules.
func (sh *Shape) Record(l *topology.DomainCounts, domain int, r Membership, n int) {
	if len(sh.members) == 0 {
		l.Record(domain, r.Part, n)
		return
	}
	for _, m := range sh.members {
		for _, x := range m.Shape.Memberships {
			if x.Rule == r.Rule {
				l.Record(domain, topology.Part{Declares: x.Declares && r.Declares, Selected: x.Selected}, n*m.Count)
			}
		}
	}
}

// playing is how many pods of a unit of the shape take part in a rule.
func (sh *Shape) playing(rule int) int {
	if len(sh.members) == 0 {
		return 1
	}
	n := 0
	for _, m := range sh.members {
		if slices.ContainsFunc(m.Shape.Memberships, func(r Membership) bool { return r.Rule == rule }) {
			n += m.Count
		}
	}
	return n
}

func union(a, b []int32) []int32 {
	if len(b) == 0 {
		return a
	}
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
