package arrange

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// outcome is how the pods of a rule over domains stand in the end.
type outcome struct {
	domains          map[string]bool
	selected, others map[string]int
	owners           map[string]int
}

func (o *outcome) add(domain string, p topology.Part) {
	if p.Selected {
		o.selected[domain]++
	}
	if p.Selected && !p.Owns {
		o.others[domain]++
	}
	if p.Owns {
		o.owners[domain]++
	}
}

// holds reports whether the rule holds, and notes what a spread did not reckon
// with if it does not.
func (o *outcome) holds(l *topology.Ledger, lessons Lessons) bool {
	least := 0
	if len(o.domains) >= l.MinDomains {
		least = unbounded
		for d := range o.domains {
			least = min(least, o.selected[d])
		}
	}
	holds := true
	for d, n := range o.owners {
		switch {
		case n == 0:
		case l.Kind == topology.Affinity:
			holds = holds && o.selected[d] > 0
		default:
			holds = holds && o.selected[d]-least <= l.MaxSkew
		}
	}
	if !holds && l.Kind == topology.Spread {
		lessons.domains[l.ID], lessons.others[l.ID] = o.domains, o.others
	}
	return holds
}

// outcomes add the pods of the plan to those that run, for each spread and
// affinity over domains that pending pods require; nil for other rules.
func (a *Arranger) outcomes(out *plan.Plan, bought []int) []*outcome {
	all := make([]*outcome, len(a.Company.Ledgers))
	for i, l := range a.Company.Ledgers {
		if !l.PerNode() && l.Kind != topology.AntiAffinity && len(a.groups[i]) > 0 {
			all[i] = &outcome{domains: map[string]bool{}, selected: map[string]int{}, others: map[string]int{}, owners: map[string]int{}}
		}
	}
	placed := map[*snapshot.Node][]*snapshot.Pod{}
	for _, x := range out.Placements {
		placed[x.Node] = append(placed[x.Node], x.Pod)
	}
	for at, m := range a.Machines.List {
		a.addMachine(all, at, placed[m.Node])
	}
	in := map[int][]string{}
	for i := range out.NewNodes {
		launch := bought[i]
		if in[launch] == nil {
			in[launch] = a.addLaunch(all, launch)
		}
		a.addPods(all, in[launch], out.NewNodes[i].Pods)
	}
	return all
}

// addMachine adds a machine that exists, with the pods that run there and those
// that are placed on it.
func (a *Arranger) addMachine(all []*outcome, at int, placed []*snapshot.Pod) {
	m := a.Machines.List[at]
	in := make([]string, len(all))
	for i, o := range all {
		if o == nil || !a.counted[i].Has(at) {
			continue
		}
		for _, d := range domainsAt(m, a.Company.Ledgers[i].Key) {
			o.domains[d] = true
		}
		in[i], _ = m.Domain(a.Company.Ledgers[i].Key)
	}
	for _, p := range m.Node.Pods {
		for _, r := range a.Company.RolesOf(p.Class.Shape) {
			counts := !p.Terminal() && (p.DeletionTimestamp == nil || a.Company.Ledgers[r.Rule].Kind != topology.Spread)
			if counts && in[r.Rule] != "" && r.Selected {
				all[r.Rule].selected[in[r.Rule]]++
			}
		}
	}
	a.addPods(all, in, placed)
}

// addLaunch adds the domains of a launch, and returns them by rule.
func (a *Arranger) addLaunch(all []*outcome, launch int) []string {
	in := make([]string, len(all))
	for i, o := range all {
		if o == nil || !a.compares(i).Has(launch) {
			continue
		}
		if r := a.Market.Index.Says(launch, a.Company.Ledgers[i].Key); affinity.Fixed(r) && !r.Absent() {
			in[i] = r.Values()[0]
			o.domains[in[i]] = true
		}
	}
	return in
}

func (a *Arranger) addPods(all []*outcome, in []string, pods []*snapshot.Pod) {
	for _, p := range pods {
		for _, r := range a.Company.RolesOf(p.Class.Shape) {
			if in[r.Rule] != "" {
				all[r.Rule].add(in[r.Rule], r.Part)
			}
		}
	}
}

// compares are the launches whose nodes a rule counts: for a spread those that its
// policies and its pod's other labels leave, else all.
func (a *Arranger) compares(rule int) bitset.Set {
	if known, ok := a.compared[rule]; ok {
		return known
	}
	l, owner, m := a.Company.Ledgers[rule], a.Company.Owners[rule], a.Market
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

// Counts reports whether a rule counts the pods of a machine that exists, or of a
// launch if machine is negative.
func (a *Arranger) Counts(rule, machine, launch int) bool {
	if machine >= 0 {
		return a.counted[rule].Has(machine)
	}
	return a.compares(rule).Has(launch)
}
