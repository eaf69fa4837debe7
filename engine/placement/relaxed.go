package placement

import (
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/arrange"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// relaxed finds the preferences that the plan does not keep, with the pods that
// have them.
func (s *settled) relaxed(asked []*demand.Shape) []plan.Relaxed {
	if len(asked) == 0 {
		return nil
	}
	sites := s.arranger.Sites(s.plan, s.bought)
	ledgers := s.ledgers(asked, sites)
	type entry struct {
		shape *demand.Shape
		index int
	}
	pods := map[entry][]*snapshot.Pod{}
	for i := range sites {
		kept := map[entry]bool{}
		for _, p := range sites[i].Pods {
			sh := s.ShapeOf(p)
			for k := range sh.Preferences {
				e := entry{sh, k}
				if _, known := kept[e]; !known {
					kept[e] = s.keeps(&sites[i], sh, &sh.Preferences[k], ledgers)
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
	if s.waived == nil || s.waived.Of(sh, k) {
		return plan.Reason{Code: plan.PreferenceTooDear, Want: want, Have: fmt.Sprintf("%g%%", 100*s.opts.Preference)}
	}
	return plan.Reason{Code: plan.PreferenceNotMet, Want: want}
}

// ledgers count, for each preferred rule, who is where in the end.
func (s *settled) ledgers(asked []*demand.Shape, sites []arrange.Site) []*topology.Ledger {
	if s.Company == nil {
		return nil
	}
	out := make([]*topology.Ledger, len(s.Company.Ledgers))
	for _, sh := range asked {
		for i := range sh.Preferences {
			if rule := sh.Preferences[i].Rule; rule >= 0 && out[rule] == nil {
				out[rule] = topology.NewLedger(s.Company.Ledgers[rule].Rule)
			}
		}
	}
	s.knowPossible(asked, out)
	s.arranger.Tally(sites, out)
	return out
}

// knowPossible tells spreads the domains where a node could have come to be: that
// there is none may be what it cost to spread.
func (s *settled) knowPossible(asked []*demand.Shape, ledgers []*topology.Ledger) {
	for _, sh := range asked {
		for i := range sh.Preferences {
			rule := sh.Preferences[i].Rule
			if rule < 0 || ledgers[rule].Kind != topology.Spread {
				continue
			}
			l := ledgers[rule]
			switch {
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

// keeps reports whether a preference is kept for a pod at a site.
func (s *settled) keeps(b *arrange.Site, sh *demand.Shape, p *demand.Preference, ledgers []*topology.Ledger) bool {
	if p.Rule >= 0 {
		l := ledgers[p.Rule]
		domain, ok := s.arranger.Domain(b, l)
		return ok && l.Kept(l.At(domain), sh.Selected(p.Rule))
	}
	if p.AboutTaints() {
		if b.Machine >= 0 {
			return !sh.Dislikes(s.Machines.List[b.Machine].Taints)
		}
		return !sh.Dislikes(s.Market.Pools[s.Market.Launches[b.Launch].Pool].Taints)
	}
	if b.Machine >= 0 {
		return s.Machines.Satisfying(p.Want).Has(b.Machine)
	}
	return s.Market.Index.Satisfying(p.Want).Has(b.Launch)
}
