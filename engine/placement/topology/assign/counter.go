package assign

import (
	"fmt"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Site is where a plan has pods: a machine that exists, or a new one.
type Site struct {
	// Machine and Launch are indices, -1 for the one that it is not.
	Machine, Launch int
	// Pods are those that the plan puts there, besides those that run.
	Pods []*snapshot.Pod
	// name is that of a new machine.
	name string
}

// counter counts pods by domain: those that run, and those that a plan puts somewhere.
type counter struct {
	*domains
	// machines are those that each rule counts, launches those of whose nodes it would,
	// once they are asked for.
	machines []bitset.Set
	launches map[int]bitset.Set
}

// domainsAt are the domains in which a machine is or may be: one that is not
// launched yet will be in one of several.
func domainsAt(m *supply.Machine, key string) []string {
	if domain, ok := m.Domain(key); ok {
		return []string{domain}
	}
	if r := m.Says(key); r.Finite() {
		return r.Values()
	}
	return nil
}

// levelCaps lets existing nodes count from the node with the fewest pods of a
// spread: that is what the scheduler compares with as long as there is no new
// node.
func (t *counter) levelCaps() {
	for i, l := range t.PodTopology.Counts {
		if l.Kind != topology.Spread || !l.PerNode() {
			continue
		}
		if least := l.Least(unbounded); least > 0 {
			for _, m := range t.Machines.List {
				m.Load.Count(int32(i), -int32(least))
			}
		}
	}
}

// Sites are all machines with the pods that a plan puts there. chosen are the launches
// of its new ones.
func (t *counter) Sites(out *plan.Plan, chosen []int) []Site {
	sites := make([]Site, 0, len(t.Machines.List)+len(chosen))
	for i := range t.Machines.List {
		sites = append(sites, Site{Machine: i, Launch: -1})
	}
	for _, x := range out.Placements {
		s := &sites[t.Machines.ByName[x.Node.Name]]
		s.Pods = append(s.Pods, x.Pod)
	}
	for i := range out.NewNodes {
		sites = append(sites, Site{Machine: -1, Launch: chosen[i], name: fmt.Sprintf("new %d", i), Pods: out.NewNodes[i].Pods})
	}
	return sites
}

// Domain is the domain of a rule that a site is in, if that is certain.
func (t *counter) Domain(s *Site, l *topology.DomainCounts) (string, bool) {
	switch {
	case s.Machine >= 0:
		return t.Machines.List[s.Machine].Domain(l.Key)
	case l.PerNode():
		return s.name, true
	}
	if r := t.Offerings.Index.Says(s.Launch, l.Key); affinity.Fixed(r) && !r.Absent() {
		return r.Values()[0], true
	}
	return "", false
}

// Count enters the pods of all sites, and the domains that spreads compare, into
// counts by rule; nil ones are left out. Pods that run are only counted: whether
// they keep their own rules is nothing that a plan decides.
func (t *counter) Count(sites []Site, counts []*topology.DomainCounts) {
	for i := range sites {
		s := &sites[i]
		in := t.domainsIn(s, counts)
		for _, p := range s.Pods {
			for _, r := range t.PodTopology.MembershipsOf(p.Class.Shape) {
				if in[r.Rule] >= 0 {
					counts[r.Rule].Record(in[r.Rule], r.Part, 1)
				}
			}
		}
		if s.Machine >= 0 {
			for r := range t.running(t.Machines.List[s.Machine]) {
				if in[r.Rule] >= 0 {
					counts[r.Rule].Record(in[r.Rule], topology.Part{Selected: r.Selected}, 1)
				}
			}
		}
	}
}

// domainsIn are the numbers of a site's domains by rule, -1 for none.
func (t *counter) domainsIn(s *Site, counts []*topology.DomainCounts) []int {
	in := make([]int, len(counts))
	for rule, l := range counts {
		in[rule] = -1
		if l == nil || !t.counts(rule, s) {
			continue
		}
		if domain, ok := t.Domain(s, l); ok {
			in[rule] = l.At(domain)
			l.Know(in[rule])
		} else if s.Machine >= 0 {
			for _, d := range domainsAt(t.Machines.List[s.Machine], l.Key) {
				l.Know(l.At(d))
			}
		}
	}
	return in
}

// running are the parts that the pods which run on a machine have in rules. A spread does not
// count pods that are on their way out.
func (t *counter) running(m *supply.Machine) iter.Seq[demand.Membership] {
	return func(yield func(demand.Membership) bool) {
		for _, p := range m.Node.Pods {
			if p.Terminal() {
				continue
			}
			for _, r := range t.PodTopology.MembershipsOf(p.Class.Shape) {
				if leaves := p.DeletionTimestamp != nil && t.PodTopology.Counts[r.Rule].Kind == topology.Spread; !leaves && !yield(r) {
					return
				}
			}
		}
	}
}

// others are the pods of a plan, by domain, that a rule selects and that do not declare
// it; zero for further ones of the domains that it compares.
func (t *counter) others(sites []Site, rule int, compared []string) map[string]int {
	out := map[string]int{}
	for _, name := range compared {
		out[name] = 0
	}
	for i := range sites {
		domain, ok := t.Domain(&sites[i], t.PodTopology.Counts[rule])
		if !ok || !t.counts(rule, &sites[i]) {
			continue
		}
		for _, p := range sites[i].Pods {
			for _, r := range t.PodTopology.MembershipsOf(p.Class.Shape) {
				if r.Rule == rule && r.Selected && !r.Declares {
					out[domain]++
				}
			}
		}
	}
	return out
}

// counts reports whether a rule counts the pods of a site.
func (t *counter) counts(rule int, s *Site) bool {
	if s.Machine >= 0 {
		return t.machines[rule].Has(s.Machine)
	}
	launches, ok := t.launches[rule]
	if !ok {
		m := t.Offerings
		launches = t.compared(rule, len(m.Launches), func(n *demand.Node) bitset.Set { return m.Index.Any(n.Terms) }, func(i int) []corev1.Taint { return m.Pools[m.Launches[i].Pool].Taints }, func(i int, key string) bool {
			return key == corev1.LabelHostname || !slices.Equal(t.domainsOn(i, key), []string{nowhere})
		})
		t.launches[rule] = launches
	}
	return launches.Has(s.Launch)
}

// compared are those of so many places that a rule counts: for a spread those that its
// policies and its pod's other labels leave, else all.
func (t *counter) compared(rule, places int, labelled func(*demand.Node) bitset.Set, taintsOf func(int) []corev1.Taint, has func(place int, key string) bool) bitset.Set {
	l, owner := t.PodTopology.Counts[rule], t.PodTopology.Owners[rule]
	out := bitset.Full(places)
	if l.Kind == topology.Spread && !l.IgnoreAffinity {
		out = labelled(owner)
	}
	for i := range out.All() {
		kept := false
		if l.HonorTaints {
			_, kept = owner.Untolerated(taintsOf(i))
		}
		if kept || slices.ContainsFunc(l.Beside, func(key string) bool { return !has(i, key) }) {
			out.Remove(i)
		}
	}
	return out
}
