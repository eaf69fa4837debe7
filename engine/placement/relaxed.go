package placement

import (
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// berth is where the plan puts pods: a machine that exists, or a launch.
type berth struct {
	name            string
	machine, launch int // -1 if it is the other
	pods            []*snapshot.Pod
}

// relaxed finds the preferences that the plan does not keep, with the pods that
// have them.
func (s *settled) relaxed(asked []*demand.Shape) []plan.Relaxed {
	if len(asked) == 0 {
		return nil
	}
	berths := s.berths()
	ledgers := s.ledgers(asked, berths)
	type entry struct {
		shape *demand.Shape
		index int
	}
	pods := map[entry][]*snapshot.Pod{}
	for i := range berths {
		kept := map[entry]bool{}
		for _, p := range berths[i].pods {
			sh := s.ShapeOf(p)
			for k := range sh.Preferences {
				e := entry{sh, k}
				if _, known := kept[e]; !known {
					kept[e] = s.keeps(&berths[i], sh, &sh.Preferences[k], ledgers)
				}
				if !kept[e] {
					pods[e] = append(pods[e], p)
				}
			}
		}
	}
	var out []plan.Relaxed
	for _, sh := range asked {
		for k := range sh.Preferences {
			if list := pods[entry{sh, k}]; len(list) > 0 {
				slices.SortFunc(list, snapshot.ComparePods)
				out = append(out, plan.Relaxed{Reason: s.whyRelaxed(sh, k), Pods: list})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b plan.Relaxed) int { return snapshot.ComparePods(a.Pods[0], b.Pods[0]) })
	return out
}

func (s *settled) whyRelaxed(sh *demand.Shape, k int) plan.Reason {
	want := s.Describe(&sh.Preferences[k])
	if s.waived == nil || sh.Gives(s.waived, k) {
		return plan.Reason{Code: plan.PreferenceTooDear, Want: want, Have: fmt.Sprintf("%g%%", 100*s.opts.Preference)}
	}
	return plan.Reason{Code: plan.PreferenceNotMet, Want: want}
}

// berths are all machines with the pods that the plan puts there, and those that
// it does not.
func (s *settled) berths() []berth {
	var out []berth
	at := map[*snapshot.Node]int{}
	for i, m := range s.Machines.List {
		at[m.Node] = len(out)
		out = append(out, berth{name: m.Node.Name, machine: i, launch: -1})
	}
	for _, x := range s.plan.Placements {
		b := &out[at[x.Node]]
		b.pods = append(b.pods, x.Pod)
	}
	for i := range s.plan.NewNodes {
		out = append(out, berth{name: fmt.Sprintf("new %d", i), machine: -1, launch: s.bought[i], pods: s.plan.NewNodes[i].Pods})
	}
	return out
}

// domain is where a berth is, if that is certain.
func (s *settled) domain(b *berth, l *topology.Ledger) (string, bool) {
	switch {
	case b.machine >= 0:
		return s.Machines.List[b.machine].Domain(l.Key)
	case l.PerNode():
		return b.name, true
	}
	r := s.Market.Index.Says(b.launch, l.Key)
	if !r.Finite() || r.Absent() || len(r.Values()) != 1 {
		return "", false
	}
	return r.Values()[0], true
}

// ledgers count, for each preferred rule, who is where in the end.
func (s *settled) ledgers(asked []*demand.Shape, berths []berth) map[int]*topology.Ledger {
	out := map[int]*topology.Ledger{}
	for _, sh := range asked {
		for i := range sh.Preferences {
			if rule := sh.Preferences[i].Rule; rule >= 0 && out[rule] == nil {
				out[rule] = topology.NewLedger(s.Company.Ledgers[rule].Rule)
			}
		}
	}
	s.knowPossible(asked, out)
	s.count(out, berths)
	return out
}

// count enters the pods of all machines into the ledgers.
func (s *settled) count(ledgers map[int]*topology.Ledger, berths []berth) {
	for i := range berths {
		b := &berths[i]
		pods := b.pods
		if b.machine >= 0 {
			pods = append(slices.Clone(pods), s.Machines.List[b.machine].Node.Pods...)
		}
		for rule, l := range ledgers {
			domain, ok := s.domain(b, l)
			if !ok {
				continue
			}
			d, counts := l.At(domain), s.arranger.Counts(rule, b.machine, b.launch)
			if counts {
				l.Know(d)
			}
			for _, p := range pods {
				if counts && !p.Terminal() && (p.DeletionTimestamp == nil || l.Kind != topology.Spread) {
					l.Record(d, s.Company.PartOf(p, rule), 1)
				}
			}
		}
	}
}

// knowPossible tells spreads the domains where a node could have come to be: that
// there is none may be what it cost to spread.
func (s *settled) knowPossible(asked []*demand.Shape, ledgers map[int]*topology.Ledger) {
	for _, sh := range asked {
		for i := range sh.Preferences {
			l := ledgers[sh.Preferences[i].Rule]
			switch {
			case l == nil || l.Kind != topology.Spread:
			case l.PerNode() && len(s.plan.NewNodes) > 0:
				l.Know(l.At("one more node"))
			case !l.PerNode():
				for _, name := range s.arranger.Domains(sh, l.Key) {
					l.Know(l.At(name))
				}
			}
		}
	}
}

// keeps reports whether a preference is kept for a pod that is in a berth.
func (s *settled) keeps(b *berth, sh *demand.Shape, p *demand.Preference, ledgers map[int]*topology.Ledger) bool {
	if p.Rule >= 0 {
		l := ledgers[p.Rule]
		domain, ok := s.domain(b, l)
		return ok && l.Kept(l.At(domain), sh.Selected(p.Rule))
	}
	if p.AboutTaints() {
		if b.machine >= 0 {
			return !sh.Dislikes(s.Machines.List[b.machine].Taints)
		}
		return !sh.Dislikes(s.Market.Pools[s.Market.Launches[b.launch].Pool].Taints)
	}
	if b.machine >= 0 {
		return s.Machines.Satisfying(p.Want).Has(b.machine)
	}
	return s.Market.Index.Satisfying(p.Want).Has(b.launch)
}
