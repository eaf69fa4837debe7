package assign

import (
	"fmt"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Pods that required affinity binds to one node are planned as units: so many of each
// group, sized together and placed as one. Affinity to pods that run binds them to
// those nodes instead, and affinity to a DaemonSet's pods to the nodes that run it.

// colocation finds the pods that have to share nodes.
type colocation struct{ *domains }

// besideDaemons has groups that require a DaemonSet's pod near go where it runs, or
// will.
func (c *colocation) besideDaemons() {
	if len(c.Daemons) == 0 {
		return
	}
	for at, g := range c.Batch.Groups {
		for _, r := range g.Shape.Memberships {
			l := c.PodTopology.Counts[r.Rule]
			if !r.Declares || l.Kind != topology.Affinity {
				continue
			}
			for _, d := range c.Daemons {
				if !l.Selects(d.Pod.Class.Shape) {
					continue
				}
				if sh, ok := c.Batch.Beside(c.Batch.Groups[at].Shape, r.Rule, d.Node); ok {
					beside := *c.Batch.Groups[at]
					beside.Shape, beside.Origin = sh, g
					c.Batch.Groups[at] = &beside
					break
				}
			}
		}
	}
}

// unite makes units of groups that have to share nodes.
func (c *colocation) unite() {
	leaders := c.leaders(c.beyond())
	if len(leaders) == 0 {
		return
	}
	component := map[*demand.Group]*demand.Group{} // of those that lead or are led
	var find func(g *demand.Group) *demand.Group
	find = func(g *demand.Group) *demand.Group {
		if up, ok := component[g]; ok && up != g {
			component[g] = find(up)
			return component[g]
		}
		return g
	}
	for _, g := range c.Batch.Groups {
		for _, leader := range leaders[g] {
			root := find(leader)
			component[find(g)], component[root] = root, root
		}
	}
	members := map[*demand.Group][]*demand.Group{}
	var roots, alone []*demand.Group
	for _, g := range c.Batch.Groups {
		if component[g] == nil {
			alone = append(alone, g)
			continue
		}
		root := find(g)
		if members[root] == nil {
			roots = append(roots, root)
		}
		members[root] = append(members[root], g)
	}
	for _, root := range roots {
		alone = append(alone, c.units(members[root], leaders)...)
	}
	c.Batch.Groups = alone
	c.Batch.Order()
}

// beyond divides groups that require pods near which run, as far as there is no room
// beside those, and returns the parts that may go beside others that are pending.
func (c *colocation) beyond() map[*demand.Group]bool {
	out := map[*demand.Group]bool{}
	var groups []*demand.Group
	for _, g := range c.Batch.Groups {
		groups = append(groups, g)
		there := c.nodesFor(g)
		if len(there) == 0 || len(g.Shape.Refused) > 0 || !c.pendingLeader(g) {
			continue
		}
		room, f := 0, c.Family(g.Shape)
		for i := range c.Machines.Accepting(g.Shape.Node).All() {
			if domain, _ := c.Machines.List[i].Domain(corev1.LabelHostname); slices.Contains(there, domain) {
				room += c.Machines.List[i].Load.Room(&f, g.Need, len(g.Pods))
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
	c.Batch.Groups = groups
	return out
}

// pendingLeader reports whether pods are pending, and not bound to others themselves, for
// each affinity over nodes that a group requires.
func (c *colocation) pendingLeader(g *demand.Group) bool {
	return !slices.ContainsFunc(c.nearOnNode(g), func(r demand.Membership) bool {
		return !slices.ContainsFunc(c.Batch.Groups, func(o *demand.Group) bool {
			return len(o.Shape.Refused) == 0 && o.Shape.Selected(r.Rule) && len(c.nearOnNode(o)) == 0
		})
	})
}

// leaders are, for each group that requires affinity over nodes to pods that are
// pending, the groups beside which it goes: one for each rule, itself where the rule is
// about the group's own pods. Groups that would wait for each other have none.
func (c *colocation) leaders(beyond map[*demand.Group]bool) map[*demand.Group][]*demand.Group {
	selected := map[int][]*demand.Group{}
	var waiting []*demand.Group
	ready := map[*demand.Group]bool{}
	for _, g := range c.Batch.Groups {
		if len(g.Shape.Refused) > 0 {
			continue
		}
		for _, r := range g.Shape.Memberships {
			if l := c.PodTopology.Counts[r.Rule]; r.Selected && l.PerNode() && l.Kind == topology.Affinity {
				selected[r.Rule] = append(selected[r.Rule], g)
			}
		}
		switch own := c.nearOnNode(g); {
		case len(own) == 0:
			ready[g] = true
		case beyond[g] || !slices.ContainsFunc(own, func(r demand.Membership) bool { return len(c.PodTopology.Counts[r.Rule].Where()) > 0 }):
			waiting = append(waiting, g)
		}
	}
	out := map[*demand.Group][]*demand.Group{}
	for progress := true; progress && len(waiting) > 0; {
		progress = false
		waiting = slices.DeleteFunc(waiting, func(g *demand.Group) bool {
			var list []*demand.Group
			for _, r := range c.nearOnNode(g) {
				leader := leaderOf(g, r, selected[r.Rule], ready)
				if leader == nil {
					return false
				}
				list = append(list, leader)
			}
			out[g], ready[g], progress = list, true, true
			return true
		})
	}
	return out
}

// leaderOf is the group beside which a rule puts another: the largest that does not
// wait itself, or the group itself where no other has to come first.
func leaderOf(g *demand.Group, r demand.Membership, selected []*demand.Group, ready map[*demand.Group]bool) *demand.Group {
	var best *demand.Group
	for _, o := range selected {
		if ready[o] && o != g && (best == nil || len(o.Pods) > len(best.Pods)) {
			best = o
		}
	}
	if best == nil && r.Selected {
		return g
	}
	return best
}

// nearOnNode are the parts of a group in affinity over nodes that it requires.
func (c *colocation) nearOnNode(g *demand.Group) []demand.Membership {
	var out []demand.Membership
	for _, r := range g.Shape.Memberships {
		if l := c.PodTopology.Counts[r.Rule]; r.Declares && l.PerNode() && l.Kind == topology.Affinity {
			out = append(out, r)
		}
	}
	return out
}

// units makes units of groups of which some lead others: one for all where the pods
// attract their own kind, else one for each pod of the smallest group that leads.
// Pods of groups that only lead stay by themselves beyond one to a unit, and pods that
// no machine holds beside the others are refused. Units for new machines are of three sizes, if
// some machine holds the largest: the smaller ones fill what it leaves.
func (c *colocation) units(groups []*demand.Group, leaders map[*demand.Group][]*demand.Group) []*demand.Group {
	count, most, leads := unbounded, 0, map[*demand.Group]bool{}
	for _, g := range groups {
		for _, leader := range leaders[g] {
			if leads[leader] = true; leader == g {
				count = 1
			}
			count = min(count, len(leader.Pods))
		}
	}
	for _, g := range groups {
		if len(leaders[g]) > 0 {
			most = max(most, len(g.Pods))
		}
	}
	count = min(count, most)
	var out []*demand.Group
	pods := make([][]*snapshot.Pod, len(groups))
	for i, g := range groups {
		pods[i] = g.Pods
		if len(leaders[g]) == 0 && len(g.Pods) > count {
			pods[i], out = g.Pods[:count:count], append(out, &demand.Group{Shape: g.Shape, Need: g.Need, Pods: g.Pods[count:], Bundle: 1})
		}
	}
	order := c.leadersFirst(groups, leaders)
	shares := divide(pods, count, 0)
	if third := count / 3; third > 0 {
		mixed := divide(pods, count, third)
		alike, _ := c.unitOf(groups, c.turns(order, shares[0]))
		if _, ok := c.unitOf(groups, c.turns(order, mixed[count-1])); ok && !c.takenNow(alike) {
			shares = mixed
		}
	}
	for lo := 0; lo < count; {
		hi := lo + 1
		for hi < count && sameSizes(shares[lo], shares[hi]) {
			hi++
		}
		units := c.unit(groups, order, shares[lo:hi])
		if count == 1 {
			units[0].Members = nil // there is no other way to divide them
		}
		out, lo = append(out, units...), hi
	}
	return out
}

// divide shares the pods of each group out to so many units: first some small ones with one
// of each group, as many with half of the average, and the rest in equal parts.
func divide(groups [][]*snapshot.Pod, count, small int) [][][]*snapshot.Pod {
	shares := make([][][]*snapshot.Pod, count)
	for _, pods := range groups {
		half := max(1, len(pods)/count/2)
		for u := range count {
			n := len(pods) / (count - u)
			switch {
			case u < small:
				n = min(n, 1)
			case u < 2*small:
				n = min(n, half)
			}
			shares[u], pods = append(shares[u], pods[:n:n]), pods[n:]
		}
	}
	return shares
}

func sameSizes(a, b [][]*snapshot.Pod) bool {
	return slices.EqualFunc(a, b, func(x, y []*snapshot.Pod) bool { return len(x) == len(y) })
}

// leadersFirst is the order in which groups of one unit are given room, by their
// indices: leaders before those that follow them.
func (c *colocation) leadersFirst(groups []*demand.Group, leaders map[*demand.Group][]*demand.Group) []int {
	var out []int
	done := map[*demand.Group]bool{}
	for len(out) < len(groups) {
		for i, g := range groups {
			if !done[g] && !slices.ContainsFunc(leaders[g], func(l *demand.Group) bool { return l != g && !done[l] }) {
				done[g], out = true, append(out, i)
			}
		}
	}
	return out
}

// unit makes a group of equal units, of which each has the pods of shares by group. The
// pods that no machine holds beside those before them are refused.
func (c *colocation) unit(groups []*demand.Group, order []int, shares [][][]*snapshot.Pod) []*demand.Group {
	turns := c.turns(order, shares[0])
	fit := len(turns)
	kept, ok := c.unitOf(groups, turns)
	if !ok {
		fit = sort.Search(fit, func(n int) bool { _, ok := c.unitOf(groups, turns[:n+1]); return !ok })
		fit = max(fit, 1) // what keeps it from every machine is told of the pod
		kept, ok = c.unitOf(groups, turns[:fit])
	}
	refused := map[int][]*snapshot.Pod{}
	for _, share := range shares {
		next := make([]int, len(groups))
		for n, i := range turns {
			p := share[i][next[i]]
			if next[i]++; ok && n < fit || !ok && n == 0 {
				kept.Pods = append(kept.Pods, p)
			} else {
				refused[i] = append(refused[i], p)
			}
		}
	}
	out := []*demand.Group{kept}
	for i, g := range groups {
		if pods := refused[i]; len(pods) > 0 {
			left := c.refuse(&demand.Group{Shape: g.Shape, Need: g.Need, Pods: pods}, c.crowded(g, len(turns)))
			left.Origin = g
			out = append(out, left)
		}
	}
	return out
}

// crowded is the reason of pods that no machine holds beside those near which they have
// to be.
func (c *colocation) crowded(g *demand.Group, pods int) plan.Reason {
	own := c.nearOnNode(g)
	if len(own) == 0 {
		return c.RuleOf(g)
	}
	have := fmt.Sprintf("no machine holds all %d pods that must share a node", pods)
	return plan.Reason{Code: plan.TopologyNotSatisfiable, Want: c.PodTopology.Counts[own[0].Rule].String(), Have: have}
}

// turns are the groups whose pods are given room in a unit, one after the other: a pod
// of each, then the others in turn.
func (c *colocation) turns(order []int, share [][]*snapshot.Pod) []int {
	var out []int
	for round := 0; ; round++ {
		before := len(out)
		for _, i := range order {
			if round < len(share[i]) {
				out = append(out, i)
			}
		}
		if len(out) == before {
			return out
		}
	}
}

// unitOf is a group, without pods, of units with a pod of each of some groups, and
// whether some machine has room for one.
func (c *colocation) unitOf(groups []*demand.Group, turns []int) (*demand.Group, bool) {
	counts := make([]int, len(groups))
	for _, i := range turns {
		counts[i]++
	}
	out := &demand.Group{Need: make([]int64, len(c.Dims.Names)), Bundle: len(turns)}
	var members []demand.Member
	for i, g := range groups {
		if counts[i] > 0 {
			members = append(members, demand.Member{Shape: g.Shape, Need: g.Need, Count: counts[i]})
			vector.Add(out.Need, g.Need, int64(counts[i]))
		}
	}
	near := func(rule int) bool {
		l := c.PodTopology.Counts[rule]
		return l.PerNode() && l.Kind == topology.Affinity
	}
	var ok bool
	if out.Shape, ok = c.Batch.Unit(members, near); !ok {
		out.Shape = groups[turns[0]].Shape
		return out, false
	}
	out.Members = members
	return out, c.takes(out)
}

// nodesFor are the nodes where pods run for each affinity over nodes that a group
// requires.
func (c *colocation) nodesFor(g *demand.Group) []string {
	var there []string
	for i, r := range c.nearOnNode(g) {
		names := c.PodTopology.Counts[r.Rule].Where()
		if i == 0 {
			there = names
		}
		there = slices.DeleteFunc(there, func(n string) bool { return !slices.Contains(names, n) })
	}
	return there
}

// bindToNodes has a group go where pods run that it requires on its node.
func (c *colocation) bindToNodes(g *demand.Group) *demand.Group {
	own := c.nearOnNode(g)
	if len(own) == 0 || len(g.Shape.Refused) > 0 {
		return g
	}
	there := c.nodesFor(g)
	if len(there) == 0 {
		return c.refuse(g, c.unmet(g))
	}
	memberships := g.Shape.Memberships
	out := c.bind(g, requirement.NewSet(requirement.Must(corev1.LabelHostname, requirement.In, there...)), g.Pods)
	sh := *out.Shape
	sh.Memberships = slices.DeleteFunc(slices.Clone(memberships), func(r demand.Membership) bool { return c.PodTopology.Counts[r.Rule].Kind == topology.Affinity })
	out.Shape = c.Intern(&sh)
	return out
}

// unmet explains an affinity to pods that are nowhere.
func (c *colocation) unmet(g *demand.Group) plan.Reason {
	for _, r := range g.Shape.Memberships {
		if l := c.PodTopology.Counts[r.Rule]; r.Declares && l.Kind == topology.Affinity && l.Anywhere() == 0 {
			return demand.Unsatisfiable(l)
		}
	}
	return plan.Reason{Code: plan.TopologyNotSatisfiable}
}
