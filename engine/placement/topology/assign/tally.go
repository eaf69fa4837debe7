package assign

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
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

// Sites are all machines with the pods that a plan puts there. chosen are the launches
// of its new ones.
func (a *Assigner) Sites(out *plan.Plan, chosen []int) []Site {
	sites := make([]Site, 0, len(a.Machines.List)+len(chosen))
	at := make(map[*snapshot.Node]int, len(a.Machines.List))
	for i, m := range a.Machines.List {
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
func (a *Assigner) Domain(s *Site, l *topology.DomainCounts) (string, bool) {
	switch {
	case s.Machine >= 0:
		return a.Machines.List[s.Machine].Domain(l.Key)
	case l.PerNode():
		return s.name, true
	}
	if r := a.Offerings.Index.Says(s.Launch, l.Key); affinity.Fixed(r) && !r.Absent() {
		return r.Values()[0], true
	}
	return "", false
}

// Tally enters the pods of all sites, and the domains that spreads compare, into
// counts by rule; nil ones are left out. Pods that run are only counted: whether
// they keep their own rules is nothing that a plan decides.
func (a *Assigner) Tally(sites []Site, counts []*topology.DomainCounts) {
	known := map[int][]int{}
	perNode := slices.ContainsFunc(counts, func(l *topology.DomainCounts) bool { return l != nil && l.PerNode() })
	for i := range sites {
		s := &sites[i]
		in := known[s.Launch]
		if in == nil || s.Launch < 0 || perNode {
			in = a.domainsIn(s, counts)
			known[s.Launch] = in
		}
		for _, p := range s.Pods {
			for _, r := range a.PodTopology.MembershipsOf(p.Class.Shape) {
				if in[r.Rule] >= 0 {
					counts[r.Rule].Record(in[r.Rule], r.Part, 1)
				}
			}
		}
		if s.Machine >= 0 {
			a.tallyRunning(a.Machines.List[s.Machine].Node.Pods, in, counts)
		}
	}
}

// domainsIn are the numbers of a site's domains by rule, -1 for none.
func (a *Assigner) domainsIn(s *Site, counts []*topology.DomainCounts) []int {
	in := make([]int, len(counts))
	for rule, l := range counts {
		in[rule] = -1
		if l == nil || !a.counts(rule, s) {
			continue
		}
		if domain, ok := a.Domain(s, l); ok {
			in[rule] = l.At(domain)
			l.Know(in[rule])
		} else if s.Machine >= 0 {
			for _, d := range domainsAt(a.Machines.List[s.Machine], l.Key) {
				l.Know(l.At(d))
			}
		}
	}
	return in
}

func (a *Assigner) tallyRunning(pods []*snapshot.Pod, in []int, counts []*topology.DomainCounts) {
	for _, p := range pods {
		if p.Terminal() {
			continue
		}
		for _, r := range a.PodTopology.MembershipsOf(p.Class.Shape) {
			if in[r.Rule] >= 0 && (p.DeletionTimestamp == nil || counts[r.Rule].Kind != topology.Spread) {
				counts[r.Rule].Record(in[r.Rule], topology.Part{Selected: r.Selected}, 1)
			}
		}
	}
}

// others are the pods of a plan, by domain, that a rule selects and that do not declare
// it.
func (a *Assigner) others(sites []Site, rule int) map[string]int {
	out := map[string]int{}
	for i := range sites {
		domain, ok := a.Domain(&sites[i], a.PodTopology.Counts[rule])
		if !ok || !a.counts(rule, &sites[i]) {
			continue
		}
		for _, p := range sites[i].Pods {
			for _, r := range a.PodTopology.MembershipsOf(p.Class.Shape) {
				if r.Rule == rule && r.Selected && !r.Declares {
					out[domain]++
				}
			}
		}
	}
	return out
}

// counts reports whether a rule counts the pods of a site.
func (a *Assigner) counts(rule int, s *Site) bool {
	if s.Machine >= 0 {
		return a.counted[rule].Has(s.Machine)
	}
	return a.compares(rule).Has(s.Launch)
}

// compares are the launches whose nodes a rule counts: for a spread those that its
// policies and its pod's other labels leave, else all.
func (a *Assigner) compares(rule int) bitset.Set {
	if known, ok := a.compared[rule]; ok {
		return known
	}
	l, owner, m := a.PodTopology.Counts[rule], a.PodTopology.Owners[rule], a.Offerings
	out := bitset.Full(len(m.Launches))
	if l.Kind == topology.Spread && !l.IgnoreAffinity {
		out = bitset.New(len(m.Launches))
		for _, t := range owner.Terms {
			out.Or(m.Index.Satisfying(t))
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
			if slices.Equal(a.domainsOn(i, key), []string{nowhere}) {
				out.Remove(i)
			}
		}
	}
	a.compared[rule] = out
	return out
}
