package assign

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Cuts are the constraints that plans have added to the pods' own. Domains are assigned
// before nodes are launched, and what is launched may break the assignment: a limit keeps
// pods out, other pods take the room, bring nodes into a domain that a spread then
// compares as well, or land on nodes that it does not count. Few plans need cuts.
type Cuts struct {
	// most is how many pods of a group may be assigned to a domain, by the path to it,
	// and how many to any, by the key of the group.
	most map[string]int
	// first are the keys of groups that come before all others.
	first map[string]bool
	// rounds is how many plans have added something.
	rounds int
}

// NewCuts are none, with groups that come first, by their keys.
func NewCuts(first ...string) *Cuts {
	c := &Cuts{most: map[string]int{}, first: map[string]bool{}}
	for _, key := range first {
		c.first[key] = true
	}
	return c
}

// First reports whether a group comes before all others.
func (c *Cuts) First(g *demand.Group) bool { return g.Origin != nil && c.first[g.Origin.Key()] }

// cap allows a domain so many pods, and reports whether that is new.
func (c *Cuts) cap(path string, n int) bool {
	if most, ok := c.most[path]; ok && most <= n {
		return false
	}
	c.most[path] = n
	return true
}

// What is cut is more at each level: pods in domains where some found no node, then pods
// of such groups anywhere, then such groups and those of broken rules altogether.
const (
	cutDomains = iota
	cutGroups
	cutAll
)

// Cut verifies a plan, and adds to the cuts what it has shown to be impossible. It
// reports whether the plan keeps all constraints, and whether there is something new, so that
// another plan is due.
func (a *Assigner) Cut(out *plan.Plan, chosen []int) (kept, again bool) {
	if a.PodTopology == nil {
		return true, false
	}
	broken := a.broken(out, chosen)
	for level := min(a.cuts.rounds, cutAll); level <= cutAll; level++ {
		fresh := a.capMissing(level)
		for _, g := range a.Batch.Groups {
			if level == cutAll && g.Origin != nil && slices.ContainsFunc(g.Origin.Shape.Memberships, func(r demand.Membership) bool { return r.Declares && slices.Contains(broken, r.Rule) }) {
				fresh = a.cuts.cap(g.Origin.Key(), 0) || fresh
			}
		}
		if fresh {
			a.cuts.rounds++
			return len(broken) == 0, true
		}
	}
	return len(broken) == 0, false
}

// capMissing caps domains, and groups, that have pods without a node, and reports whether some
// were not.
func (a *Assigner) capMissing(level int) (fresh bool) {
	left := map[string]int{}
	for _, g := range a.Batch.Groups {
		if g.Origin == nil || len(g.Shape.Refused) > 0 || len(g.Pods) == 0 {
			continue
		}
		key := g.Origin.Key()
		if _, ok := left[key]; !ok {
			left[key] = len(g.Origin.Pods)
		}
		left[key] -= len(g.Pods)
		if s, ok := a.slots[g]; ok {
			fresh = a.cuts.cap(s.path, s.pods-len(g.Pods)) || fresh
		}
	}
	for key, n := range left {
		switch level {
		case cutGroups:
			fresh = a.cuts.cap(key, max(0, n)) || fresh
		case cutAll:
			fresh = a.cuts.cap(key, 0) || fresh
		}
	}
	return fresh
}

// broken are the required rules over domains that a plan breaks.
func (a *Assigner) broken(out *plan.Plan, chosen []int) (rules []int) {
	counts := make([]*topology.DomainCounts, len(a.PodTopology.Counts))
	for i, l := range a.PodTopology.Counts {
		if !l.PerNode() && l.Kind != topology.AntiAffinity {
			counts[i] = topology.NewDomainCounts(l.Rule)
		}
	}
	a.Count(a.Sites(out, chosen), counts)
	for rule, l := range counts {
		if l != nil && !l.Holds() {
			rules = append(rules, rule)
		}
	}
	return rules
}

// Blocked are the keys of the groups of which pods are left, for want of room or for inter-pod
// constraints, that some machine would take if no others were there.
func (a *Assigner) Blocked() []string {
	var out []string
	for _, part := range a.Batch.Groups {
		g := part.Origin
		if g == nil || len(part.Pods) == 0 || slices.Contains(out, g.Key()) ||
			slices.ContainsFunc(part.Shape.Refused, func(r plan.Reason) bool { return r.Code != plan.TopologyNotSatisfiable }) {
			continue
		}
		if node, need := a.ShapeOf(part.Pods[0]).Node, a.NeedOf(part.Pods[0].Class); a.Offerings.Sells(node, need) || a.Holds(node, need) {
			out = append(out, g.Key())
		}
	}
	return out
}
