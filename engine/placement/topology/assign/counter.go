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
	"github.com/millwright-dev/millwright/engine/requirement"
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

// countedBy is a rule that counts machines that exist, or launches.
type countedBy struct {
	rule     int
	existing bool
}

// levelCaps lets existing nodes count from the node with the fewest pods of a
// spread: that is what the scheduler compares with as long as there is no new
// node.
func (t *domains) levelCaps() {
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
func (t *domains) Sites(out *plan.Plan, chosen []int) []Site {
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
func (t *domains) Domain(s *Site, l *topology.DomainCounts) (string, bool) {
	if s.Machine < 0 && l.PerNode() {
		return s.name, true
	}
	return affinity.Value(t.says(s, l.Key))
}

// says is what the node of a site says about a label.
func (t *domains) says(s *Site, key string) requirement.Requirement {
	if s.Machine >= 0 {
		return t.Machines.Says(s.Machine, key)
	}
	return t.Offerings.Index.Says(s.Launch, key)
}

// Count enters the pods of all sites, and the domains that spreads compare, into
// counts by rule; nil ones are left out. Pods that run are only counted: whether
// they keep their own rules is nothing that a plan decides.
func (t *domains) Count(sites []Site, counts []*topology.DomainCounts) {
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

// domainsIn are the numbers of a site's domains by rule, -1 for none. Spreads get to know them.
func (t *domains) domainsIn(s *Site, counts []*topology.DomainCounts) []int {
	in := make([]int, len(counts))
	for rule, l := range counts {
		in[rule] = -1
		if l == nil || !t.counts(rule, s) {
			continue
		}
		domain, ok := t.Domain(s, l)
		switch {
		case ok:
			in[rule] = l.At(domain)
			l.Know(in[rule])
		case s.Machine >= 0:
			t.know(s, l)
		}
	}
	return in
}

// know tells a rule the domains in which a site is or may be: a machine that is not launched
// yet will be in one of several.
func (t *domains) know(s *Site, l *topology.DomainCounts) {
	for _, d := range values(t.says(s, l.Key)) {
		if d != nowhere {
			l.Know(l.At(d))
		}
	}
}

// running are the parts that the pods which run on a machine have in rules. A spread does not
// count pods that are on their way out.
func (t *domains) running(m *supply.Machine) iter.Seq[demand.Membership] {
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

// counts reports whether a rule counts the pods of a site.
func (t *domains) counts(rule int, s *Site) bool {
	by := countedBy{rule, s.Machine >= 0}
	set, ok := t.counted[by]
	if !ok {
		set = t.find(by)
		t.counted[by] = set
	}
	return set.Has(max(s.Machine, s.Launch))
}

// find looks for the machines that a rule counts: a spread those that its policies and its
// pod's other labels leave, others all.
func (t *domains) find(by countedBy) bitset.Set {
	l, owner := t.PodTopology.Counts[by.rule], t.PodTopology.Owners[by.rule]
	labelled := owner
	if l.Kind != topology.Spread || l.IgnoreAffinity {
		labelled = demand.NodeOf([]requirement.Set{nil}, nil)
	}
	out, m := t.Machines.Labelled(labelled), t.Offerings
	if !by.existing {
		out = m.Index.Any(labelled.Terms)
	}
	if !l.HonorTaints && len(l.Beside) == 0 {
		return out
	}
	return out.Where(func(i int) bool {
		s, taints := Site{Machine: i, Launch: -1}, []corev1.Taint(nil)
		if by.existing {
			taints = t.Machines.List[i].Taints
		} else {
			s, taints = Site{Machine: -1, Launch: i}, m.Pools[m.Launches[i].Pool].Taints
		}
		_, kept := owner.Untolerated(taints)
		return !(kept && l.HonorTaints) && !slices.ContainsFunc(l.Beside, func(key string) bool {
			// Every machine that is launched has a hostname.
			return (by.existing || key != corev1.LabelHostname) && slices.Equal(values(t.says(&s, key)), []string{nowhere})
		})
	})
}
