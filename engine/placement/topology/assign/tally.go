package assign

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/placement/taints"
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
	name string
}

// tally counts pods by domain: those that run, and those that a plan puts somewhere.
type tally struct {
	*domains
	// counted are the machines, and compared the launches, that each rule counts.
	counted  []bitset.Set
	compared map[int]bitset.Set
}

// compare finds the nodes that a spread counts, and their domains.
func (t *tally) compare(rule int, l *topology.DomainCounts) {
	owner := t.PodTopology.Owners[rule]
	counted := t.counted[rule]
	if !l.IgnoreAffinity {
		counted = t.Machines.Labelled(owner)
		t.counted[rule] = counted
	}
	for at := range counted.All() {
		m := t.Machines.List[at]
		if l.HonorTaints {
			if _, kept := taints.Untolerated(m.Taints, owner.Tolerations); kept {
				counted.Remove(at)
				continue
			}
		}
		if slices.ContainsFunc(l.Beside, func(key string) bool { return lacks(m, key) }) {
			counted.Remove(at)
			continue
		}
		for _, domain := range domainsAt(m, l.Key) {
			l.Know(l.At(domain))
		}
	}
}

// lacks reports whether a machine has no value of a label.
func lacks(m *supply.Machine, key string) bool { return len(domainsAt(m, key)) == 0 }

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

// record enters the pods of one machine. A spread does not count pods that are on
// their way out.
func (t *tally) record(at int, m *supply.Machine) {
	for _, p := range m.Node.Pods {
		if p.Terminal() {
			continue
		}
		for _, r := range t.PodTopology.MembershipsOf(p.Class.Shape) {
			l := t.PodTopology.Counts[r.Rule]
			if l.Kind == topology.Spread && (p.DeletionTimestamp != nil || !t.counted[r.Rule].Has(at)) {
				continue
			}
			domain, ok := m.Domain(l.Key)
			if !ok {
				continue
			}
			l.Record(l.At(domain), r.Part, 1)
			if l.PerNode() && l.Kind == topology.Spread && r.Selected {
				m.Load.Count(int32(r.Rule), 1)
			}
		}
	}
}

// levelCaps lets existing nodes count from the node with the fewest pods of a
// spread: that is what the scheduler compares with as long as there is no new
// node. Pods with further rules may have to wait for those, and then it is too
// late.
func (t *tally) levelCaps() {
	for i, l := range t.PodTopology.Counts {
		if l.Kind != topology.Spread || !l.PerNode() || t.ownMore(i) {
			continue
		}
		if least := l.Least(unbounded); least > 0 {
			for _, m := range t.Machines.List {
				m.Load.Count(int32(i), -int32(least))
			}
		}
	}
}

// ownMore reports whether some owner of a rule has another one.
func (t *tally) ownMore(rule int) bool {
	return slices.ContainsFunc(t.Batch.Groups, func(g *demand.Group) bool {
		declared, more := false, false
		for _, r := range g.Shape.Memberships {
			declared = declared || r.Declares && r.Rule == rule
			more = more || r.Declares && r.Rule != rule
		}
		return declared && more
	})
}

// Sites are all machines with the pods that a plan puts there. chosen are the launches
// of its new ones.
func (t *tally) Sites(out *plan.Plan, chosen []int) []Site {
	sites := make([]Site, 0, len(t.Machines.List)+len(chosen))
	at := make(map[*snapshot.Node]int, len(t.Machines.List))
	for i, m := range t.Machines.List {
		at[m.Node] = i
		sites = append(sites, Site{Machine: i, Launch: -1, name: m.Node.Name})
	}
	for _, x := range out.Placements {
		s := &sites[at[x.Node]]
		s.Pods = append(s.Pods, x.Pod)
	}
	for i := range out.NewNodes {
		sites = append(sites, Site{Machine: -1, Launch: chosen[i], name: fmt.Sprintf("new %d", i), Pods: out.NewNodes[i].Pods})
	}
	return sites
}

// Domain is the domain of a rule that a site is in, if that is certain.
func (t *tally) Domain(s *Site, l *topology.DomainCounts) (string, bool) {
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

// Tally enters the pods of all sites, and the domains that spreads compare, into
// counts by rule; nil ones are left out. Pods that run are only counted: whether
// they keep their own rules is nothing that a plan decides.
func (t *tally) Tally(sites []Site, counts []*topology.DomainCounts) {
	known := map[int][]int{}
	perNode := slices.ContainsFunc(counts, func(l *topology.DomainCounts) bool { return l != nil && l.PerNode() })
	for i := range sites {
		s := &sites[i]
		in := known[s.Launch]
		if in == nil || s.Launch < 0 || perNode {
			in = t.domainsIn(s, counts)
			known[s.Launch] = in
		}
		for _, p := range s.Pods {
			for _, r := range t.PodTopology.MembershipsOf(p.Class.Shape) {
				if in[r.Rule] >= 0 {
					counts[r.Rule].Record(in[r.Rule], r.Part, 1)
				}
			}
		}
		if s.Machine >= 0 {
			t.tallyRunning(t.Machines.List[s.Machine].Node.Pods, in, counts)
		}
	}
}

// domainsIn are the numbers of a site's domains by rule, -1 for none.
func (t *tally) domainsIn(s *Site, counts []*topology.DomainCounts) []int {
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

func (t *tally) tallyRunning(pods []*snapshot.Pod, in []int, counts []*topology.DomainCounts) {
	for _, p := range pods {
		if p.Terminal() {
			continue
		}
		for _, r := range t.PodTopology.MembershipsOf(p.Class.Shape) {
			if in[r.Rule] >= 0 && (p.DeletionTimestamp == nil || counts[r.Rule].Kind != topology.Spread) {
				counts[r.Rule].Record(in[r.Rule], topology.Part{Selected: r.Selected}, 1)
			}
		}
	}
}

// others are the pods of a plan, by domain, that a rule selects and that do not declare
// it.
func (t *tally) others(sites []Site, rule int) map[string]int {
	out := map[string]int{}
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
func (t *tally) counts(rule int, s *Site) bool {
	if s.Machine >= 0 {
		return t.counted[rule].Has(s.Machine)
	}
	return t.compares(rule).Has(s.Launch)
}

// compares are the launches whose nodes a rule counts: for a spread those that its
// policies and its pod's other labels leave, else all.
func (t *tally) compares(rule int) bitset.Set {
	if known, ok := t.compared[rule]; ok {
		return known
	}
	l, owner, m := t.PodTopology.Counts[rule], t.PodTopology.Owners[rule], t.Offerings
	out := bitset.Full(len(m.Launches))
	if l.Kind == topology.Spread && !l.IgnoreAffinity {
		out = bitset.New(len(m.Launches))
		for _, term := range owner.Terms {
			out.Or(m.Index.Satisfying(term))
		}
	}
	for _, p := range m.Pools {
		if _, kept := taints.Untolerated(p.Taints, owner.Tolerations); kept && l.HonorTaints {
			for i := p.Lo; i < p.Hi; i++ {
				out.Remove(i)
			}
		}
	}
	for _, key := range l.Beside {
		if key == corev1.LabelHostname {
			continue // every node has one
		}
		for i := range out.All() {
			if slices.Equal(t.domainsOn(i, key), []string{nowhere}) {
				out.Remove(i)
			}
		}
	}
	t.compared[rule] = out
	return out
}
