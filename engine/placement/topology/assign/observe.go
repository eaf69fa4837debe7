package assign

import (
	"github.com/millwright-dev/millwright/engine/placement/topology"
)

// observe records the pods that run, and prepares the machines' loads for rules
// over nodes.
func (a *Assigner) observe() {
	if a.PodTopology == nil {
		return
	}
	for i, m := range a.Machines.List {
		s := Site{Machine: i, Launch: -1}
		for rule, l := range a.PodTopology.Counts {
			if l.Kind == topology.Spread && a.counts(rule, &s) {
				a.know(&s, l)
			}
		}
		for r := range a.running(m) {
			l := a.PodTopology.Counts[r.Rule]
			domain, ok := a.Domain(&s, l)
			if !ok || !a.counts(r.Rule, &s) {
				continue
			}
			l.Record(l.At(domain), r.Part, 1)
			if l.PerNode() && l.Kind == topology.Spread && r.Selected {
				m.Load.Count(int32(r.Rule), 1)
			}
		}
	}
	a.besideDaemons()
	a.unite()
	a.levelCaps()
}

// knowDomains tells every spread the domains in which new nodes may come to be.
func (a *Assigner) knowDomains() {
	for _, g := range a.Batch.Groups {
		for _, r := range g.Shape.Memberships {
			if l := a.PodTopology.Counts[r.Rule]; (r.Declares || r.Weight > 0) && l.Kind == topology.Spread && !l.PerNode() && len(g.Shape.Refused) == 0 {
				for _, c := range a.cellsOf(g, []string{l.Key}) {
					// Where an earlier round could launch nothing, no node will come to be.
					if most, ok := a.cuts.most[pathOf(g, []string{l.Key}, c.values)]; c.values[0] != nowhere && (!ok || most > 0 || c.free > 0) {
						l.Know(l.At(c.values[0]))
					}
				}
			}
		}
	}
}
