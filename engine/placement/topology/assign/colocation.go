package assign

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Pods that required affinity binds to one node are planned as units: so many of each
// group, sized together and placed as one. Affinity to pods that run binds them to
// those nodes instead, and affinity to a DaemonSet's pods to the nodes that run it.

// besideDaemons has groups that require a DaemonSet's pod near go where it runs, or
// will.
func (s *domains) besideDaemons() {
	for at, g := range s.Batch.Groups {
		for _, r := range g.Shape.Memberships {
			l := s.PodTopology.Counts[r.Rule]
			if !r.Declares || l.Kind != topology.Affinity {
				continue
			}
			beside := *s.Batch.Groups[at]
			found := slices.ContainsFunc(s.Daemons, func(d *supply.Daemon) (ok bool) {
				if l.Selects(d.Pod.Class.Shape) {
					beside.Shape, ok = s.Batch.Beside(s.Batch.Groups[at].Shape, r.Rule, d.Node)
				}
				return ok
			})
			if found {
				beside.Origin, s.Batch.Groups[at] = g, &beside
			}
		}
	}
}

// unite makes units of groups that have to share nodes: of each that leads, or goes beside its
// own kind, with those that follow it, and their followers.
func (s *domains) unite() {
	members, leader := s.leaders(s.beyond())
	var out []*demand.Group
	for _, g := range s.Batch.Groups {
		switch {
		case members[g] != nil:
			out = append(out, s.units(members[g], leader)...)
		case leader[g] == nil:
			out = append(out, g)
		}
	}
	s.Batch.Groups = out
	demand.Sort(s.Batch.Groups)
}

// beyond divides groups that require pods near which run, as far as there is no room
// beside those, and returns the parts that may go beside others that are pending.
func (s *domains) beyond() map[*demand.Group]bool {
	out := map[*demand.Group]bool{}
	var groups []*demand.Group
	for _, g := range s.Batch.Groups {
		groups = append(groups, g)
		near, ok := s.nearOnNode(g)
		if !ok || len(g.Shape.Refused) > 0 {
			continue
		}
		there := s.PodTopology.Counts[near.Rule].Where()
		leads := func(o *demand.Group) bool {
			_, bound := s.nearOnNode(o)
			return !bound && len(o.Shape.Refused) == 0 && o.Shape.Selected(near.Rule)
		}
		if len(there) == 0 || !slices.ContainsFunc(s.Batch.Groups, leads) {
			continue
		}
		room, f := 0, s.Family(g.Shape)
		for i := range s.Machines.Accepting(g.Shape.Node).All() {
			if domain, _ := s.Machines.List[i].Domain(corev1.LabelHostname); slices.Contains(there, domain) {
				room += s.Machines.List[i].Load.Room(&f, g.Need, len(g.Pods))
			}
		}
		if room < len(g.Pods) {
			rest := *g
			rest.Pods, g.Pods = g.Pods[room:], g.Pods[:room:room]
			if len(g.Pods) == 0 {
				groups = groups[:len(groups)-1]
			}
			groups, out[&rest] = append(groups, &rest), true
		}
	}
	s.Batch.Groups = groups
	return out
}

// leaders are the groups beside which those go that require affinity over nodes to pods that
// are pending: themselves where the rule is about the group's own pods. Members are those of
// each group that follows no other, itself first; who follows comes after its leader. Groups
// that wait only for some that go beside pods that run have no leader.
func (s *domains) leaders(beyond map[*demand.Group]bool) (members map[*demand.Group][]*demand.Group, leader map[*demand.Group]*demand.Group) {
	var waiting []*demand.Group
	ready := map[int][]*demand.Group{} // by the rules that select them
	settle := func(g *demand.Group) {
		for _, r := range g.Shape.Memberships {
			if r.Selected {
				ready[r.Rule] = append(ready[r.Rule], g)
			}
		}
	}
	for _, g := range s.Batch.Groups {
		switch near, ok := s.nearOnNode(g); {
		case len(g.Shape.Refused) > 0:
		case !ok:
			settle(g)
		case beyond[g] || len(s.PodTopology.Counts[near.Rule].Where()) == 0:
			waiting = append(waiting, g)
		}
	}
	members, leader = map[*demand.Group][]*demand.Group{}, map[*demand.Group]*demand.Group{}
	root := map[*demand.Group]*demand.Group{}
	for before := -1; len(waiting) != before; {
		before = len(waiting)
		waiting = slices.DeleteFunc(waiting, func(g *demand.Group) bool {
			first := s.leaderOf(g, ready)
			if first == nil {
				return false
			}
			settle(g)
			leader[g], root[g] = first, cmp.Or(root[first], first)
			if of := root[g]; len(members[of]) == 0 {
				members[of] = []*demand.Group{of}
			}
			if g != first {
				members[root[g]] = append(members[root[g]], g)
			}
			return true
		})
	}
	return members, leader
}

// leaderOf is the group beside which affinity over nodes puts another: the largest that does not
// wait itself, or the group itself where no other has to come first.
func (s *domains) leaderOf(g *demand.Group, ready map[int][]*demand.Group) *demand.Group {
	near, _ := s.nearOnNode(g)
	var best *demand.Group
	for _, o := range ready[near.Rule] {
		if best == nil || len(o.Pods) > len(best.Pods) {
			best = o
		}
	}
	if best == nil && near.Selected {
		return g
	}
	return best
}

// nearOnNode is the part of a group in affinity over nodes that it requires: in one rule, as
// the terms of a pod select together.
func (s *domains) nearOnNode(g *demand.Group) (near demand.Membership, ok bool) {
	for _, r := range g.Shape.Memberships {
		if l := s.PodTopology.Counts[r.Rule]; r.Declares && l.PerNode() && l.Kind == topology.Affinity {
			return r, true
		}
	}
	return near, false
}

// units makes units of groups of which some lead others: one for all where the pods
// attract their own kind, else one for each pod of the smallest group that leads.
// Pods of groups that only lead stay by themselves beyond one to a unit, and pods that
// no machine holds beside the others are refused. Units for new machines are of three sizes, if
// some machine holds the largest: the smaller ones fill what it leaves.
func (s *domains) units(groups []*demand.Group, leader map[*demand.Group]*demand.Group) []*demand.Group {
	count, most := unbounded, 0
	for _, g := range groups {
		switch first := leader[g]; first {
		case nil:
		case g:
			count, most = 1, max(most, len(g.Pods))
		default:
			count, most = min(count, len(first.Pods)), max(most, len(g.Pods))
		}
	}
	count = min(count, most)
	var out []*demand.Group
	pods, sizes := make([][]*snapshot.Pod, len(groups)), make([]int, len(groups))
	for i, g := range groups {
		pods[i] = g.Pods
		if leader[g] == nil && len(g.Pods) > count {
			pods[i], out = g.Pods[:count:count], append(out, &demand.Group{Shape: g.Shape, Need: g.Need, Pods: g.Pods[count:], Bundle: 1})
		}
		sizes[i] = len(pods[i])
	}
	contents := divide(sizes, count, 0)
	if third := count / 3; third > 0 {
		mixed := divide(sizes, count, third)
		alike, _ := s.unitOf(membersOf(groups, contents[0]))
		if large, ok := s.unitOf(membersOf(groups, mixed[count-1])); ok && !s.takenNow(alike) &&
			(s.takenNow(large) || s.Offerings.Sells(large.Shape.Node, large.Need)) {
			contents = mixed
		}
	}
	for lo := 0; lo < count; {
		content, hi := contents[lo], lo
		var all []*snapshot.Pod
		for ; hi < count && slices.Equal(content, contents[hi]); hi++ {
			for i, n := range content {
				all, pods[i] = append(all, pods[i][:n]...), pods[i][n:]
			}
		}
		units := s.unit(groups, leader, content, all)
		if count == 1 {
			units[0].Members = nil // there is no other way to divide them
		}
		out, lo = append(out, units...), hi
	}
	return out
}

// divide tells how many pods of each group so many units have: first some small ones one of
// each group, as many half of the average, and the rest equal parts.
func divide(sizes []int, count, small int) [][]int {
	out := make([][]int, count)
	for _, left := range sizes {
		half := max(1, left/count/2)
		for u := range out {
			n := left / (count - u)
			switch {
			case u < small:
				n = min(n, 1)
			case u < 2*small:
				n = min(n, half)
			}
			out[u], left = append(out[u], n), left-n
		}
	}
	return out
}

// unit makes a group of equal units, of which each has a number of pods of each group. The
// pods that no machine may hold beside the others are refused.
func (s *domains) unit(groups []*demand.Group, leader map[*demand.Group]*demand.Group, content []int, pods []*snapshot.Pod) []*demand.Group {
	whole, ok := s.holds(groups, content)
	if whole.Pods = pods; ok {
		return []*demand.Group{whole}
	}
	fit := s.largest(groups, leader, content)
	if slices.Max(fit) == 0 {
		fit[0] = 1 // what keeps it from every machine is told of the pod
	}
	kept, refused := s.cut(whole, pods, membersOf(groups, content), membersOf(groups, fit))
	return append([]*demand.Group{kept}, refused...)
}

// largest is what a machine may hold of the content of a unit: a pod of each group in turn, up to
// the first of the group that does not fit, and none that would be there without its leader.
func (s *domains) largest(groups []*demand.Group, leader map[*demand.Group]*demand.Group, content []int) []int {
	fit, left := make([]int, len(groups)), slices.Clone(content)
	for grown := true; grown; {
		grown = false
		for i, g := range groups {
			first := slices.Index(groups, leader[g])
			if left[i] == 0 || first >= 0 && first != i && fit[first] == 0 {
				continue
			}
			fit[i], left[i] = fit[i]+1, left[i]-1
			if _, ok := s.holds(groups, fit); ok {
				grown = true
			} else {
				fit[i], left[i] = fit[i]-1, 0
			}
		}
	}
	return fit
}

// holds makes a unit, and reports whether a machine that exists, or may be launched, holds it.
func (s *domains) holds(groups []*demand.Group, content []int) (*demand.Group, bool) {
	unit, ok := s.unitOf(membersOf(groups, content))
	return unit, ok && (s.takenNow(unit) || s.Offerings.Launchable(unit.Shape.Node, unit.Need))
}

// shrink makes units of about half the size of pods of units, and refuses the pods that these
// leave out: half of each kind, or the last kind if there is one of each.
func (s *domains) shrink(g *demand.Group, pods []*snapshot.Pod) (smaller *demand.Group, refused []*demand.Group) {
	members := g.Shape.Members
	less := slices.Clone(members)
	for i := range less {
		less[i].Count = (less[i].Count + 1) / 2
	}
	if g.Bundle == len(less) {
		less[len(less)-1].Count = 0
	}
	return s.cut(g, pods, members, less)
}

// cut makes units with fewer of each member of pods of units, and refuses the others.
func (s *domains) cut(whole *demand.Group, pods []*snapshot.Pod, members, less []demand.Member) (kept *demand.Group, refused []*demand.Group) {
	kept, _ = s.unitOf(less)
	out := make([][]*snapshot.Pod, len(members))
	for len(pods) > 0 {
		for i, m := range members {
			n := less[i].Count
			kept.Pods, out[i], pods = append(kept.Pods, pods[:n]...), append(out[i], pods[n:m.Count]...), pods[m.Count:]
		}
	}
	for i, m := range members {
		if len(out[i]) > 0 {
			g := &demand.Group{Shape: m.Shape, Need: m.Need}
			left := s.refuse(g, out[i], s.crowded(g, whole))
			left.Origin = g
			refused = append(refused, left)
		}
	}
	return kept, refused
}

// crowded is the reason of pods of a group that no machine holds beside those near which they
// have to be: all of a unit.
func (s *domains) crowded(g, unit *demand.Group) plan.Reason {
	near, ok := s.nearOnNode(g)
	if !ok {
		return s.RuleOf(g)
	}
	have := "no machine holds"
	if len(unit.Shape.Members) > 0 && s.Offerings.Sells(unit.Shape.Node, unit.Need) {
		have = "limits, minValues and spreads leave no machine for"
	}
	have = fmt.Sprintf("%s all %d pods that must share a node", have, unit.Bundle)
	return plan.Reason{Code: plan.TopologyNotSatisfiable, Want: s.PodTopology.Counts[near.Rule].String(), Have: have}
}

// membersOf are how many pods of each of some groups are in a unit, zero for some.
func membersOf(groups []*demand.Group, content []int) []demand.Member {
	out := make([]demand.Member, len(groups))
	for i, g := range groups {
		out[i] = demand.Member{Shape: g.Shape, Need: g.Need, Count: content[i]}
	}
	return out
}

// unitOf is a group, without pods, of units with some members, and whether they can share a node.
func (s *domains) unitOf(members []demand.Member) (*demand.Group, bool) {
	members = slices.DeleteFunc(slices.Clone(members), func(m demand.Member) bool { return m.Count == 0 })
	out := &demand.Group{Need: make([]int64, len(s.Dims.Names))}
	for _, m := range members {
		out.Bundle += m.Count
		vector.Add(out.Need, m.Need, int64(m.Count))
	}
	near := func(rule int) bool {
		l := s.PodTopology.Counts[rule]
		return l.PerNode() && l.Kind == topology.Affinity
	}
	var ok bool
	if out.Shape, ok = s.Batch.Unit(members, near); !ok {
		out.Shape = members[0].Shape
		return out, false
	}
	out.Members = members
	return out, true
}

// bindToNodes has a group go where pods run that it requires on its node.
func (s *domains) bindToNodes(g *demand.Group) *demand.Group {
	near, ok := s.nearOnNode(g)
	if !ok || len(g.Shape.Refused) > 0 {
		return g
	}
	l := s.PodTopology.Counts[near.Rule]
	there := l.Where()
	if len(there) == 0 {
		return s.refuse(g, g.Pods, demand.Unsatisfiable(l))
	}
	sh := g.Shape.Unbound()
	sh.Node = g.Shape.Require(requirement.NewSet(requirement.Must(corev1.LabelHostname, requirement.In, there...)))
	sh.Memberships = slices.DeleteFunc(slices.Clone(sh.Memberships), func(r demand.Membership) bool { return s.PodTopology.Counts[r.Rule].Kind == topology.Affinity })
	return &demand.Group{Shape: s.Intern(sh), Need: g.Need, Pods: g.Pods, Bundle: g.Bundle}
}
