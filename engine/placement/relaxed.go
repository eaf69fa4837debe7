package placement

import (
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/placement/topology/assign"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// notKept finds the preferences that the plan does not keep, with the pods that
// have them.
func (w *world) notKept(asked []*demand.Shape) []plan.Relaxed {
	if len(asked) == 0 {
		return nil
	}
	sites := w.assigner.Sites(&w.plan, w.chosen)
	counts := w.counts(asked, sites)
	pods := map[*demand.Preference][]*snapshot.Pod{}
	for i := range sites {
		kept := map[*demand.Preference]bool{}
		for _, pod := range sites[i].Pods {
			sh := w.ShapeOf(pod)
			for k := range sh.Preferences {
				p := &sh.Preferences[k]
				if _, known := kept[p]; !known {
					kept[p] = w.keeps(&sites[i], sh, p, counts)
				}
				if !kept[p] {
					pods[p] = append(pods[p], pod)
				}
			}
		}
	}
	var out []plan.Relaxed
	for _, sh := range asked {
		for k := range sh.Preferences {
			if list := pods[&sh.Preferences[k]]; len(list) > 0 {
				slices.SortFunc(list, snapshot.ComparePods)
				why := plan.Reason{Code: plan.PreferenceNotMet, Want: w.Describe(&sh.Preferences[k])}
				if !w.followed.Has(sh, k) {
					why.Code, why.Have = plan.PreferenceTooDear, fmt.Sprintf("%g%%", 100*w.opts.Preference)
				}
				out = append(out, plan.Relaxed{Reason: why, Pods: list})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b plan.Relaxed) int { return snapshot.ComparePods(a.Pods[0], b.Pods[0]) })
	return out
}

// counts count, for each preferred rule, who is where in the end. Spreads know the domains
// where a node could have come to be: that there is none may be what it cost to spread.
func (w *world) counts(asked []*demand.Shape, sites []assign.Site) []*topology.DomainCounts {
	if w.PodTopology == nil {
		return nil
	}
	out := make([]*topology.DomainCounts, len(w.PodTopology.Counts))
	for _, sh := range asked {
		for i := range sh.Preferences {
			rule := sh.Preferences[i].Rule
			if rule < 0 {
				continue
			}
			if out[rule] == nil {
				out[rule] = topology.NewDomainCounts(w.PodTopology.Counts[rule].Rule)
			}
			switch l := out[rule]; {
			case l.Kind != topology.Spread:
			case !l.PerNode():
				for _, name := range w.assigner.Domains(sh.Node, l.Key) {
					l.Know(l.At(name))
				}
			case len(w.plan.NewNodes) > 0:
				l.Know(l.At("one more node"))
			}
		}
	}
	w.assigner.Count(sites, out)
	return out
}

// keeps reports whether a preference is kept for a pod at a site.
func (w *world) keeps(b *assign.Site, sh *demand.Shape, p *demand.Preference, counts []*topology.DomainCounts) bool {
	if p.Rule >= 0 {
		l, pod := counts[p.Rule], topology.Part{Selected: sh.Selected(p.Rule)}
		domain, ok := w.assigner.Domain(b, l)
		if !ok {
			return false
		}
		l.Record(l.At(domain), pod, -1)
		defer l.Record(l.At(domain), pod, 1)
		return l.Objections(l.At(domain), pod.Selected) == 0
	}
	if b.Machine >= 0 {
		return w.Machines.Accepting(p.Node).Has(b.Machine)
	}
	return w.Offerings.Accepting(p.Node).Has(b.Launch)
}
