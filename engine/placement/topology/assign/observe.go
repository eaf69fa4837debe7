package assign

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/topology"
)

// observe records the pods that run, and prepares the machines' loads for rules
// over nodes.
func (a *Assigner) observe() {
	if a.PodTopology == nil {
		return
	}
	list := a.Machines.List
	for rule, l := range a.PodTopology.Counts {
		counted := a.compared(rule, len(list), a.Machines.Labelled, func(i int) []corev1.Taint { return list[i].Taints }, func(i int, key string) bool {
			return len(domainsAt(list[i], key)) > 0
		})
		a.machines = append(a.machines, counted)
		if l.Kind != topology.Spread {
			continue
		}
		for i := range counted.All() {
			for _, domain := range domainsAt(list[i], l.Key) {
				l.Know(l.At(domain))
			}
		}
	}
	for i, m := range list {
		for r := range a.running(m) {
			l := a.PodTopology.Counts[r.Rule]
			if domain, ok := m.Domain(l.Key); ok && a.machines[r.Rule].Has(i) {
				l.Record(l.At(domain), r.Part, 1)
				if l.PerNode() && l.Kind == topology.Spread && r.Selected {
					m.Load.Count(int32(r.Rule), 1)
				}
			}
		}
	}
	a.besideDaemons()
	a.needFirst()
	a.unite()
	a.findDeclarers()
	a.levelCaps()
}

// findDeclarers notes the groups that require each rule, and the rules that some require
// or follow.
func (a *Assigner) findDeclarers() {
	a.groups = make([][]string, len(a.PodTopology.Counts))
	for _, g := range a.Batch.Groups {
		for _, r := range g.Shape.Memberships {
			if r.Declares || r.Weight > 0 {
				a.relevant[r.Rule] = true
			}
			if r.Declares {
				a.groups[r.Rule] = append(a.groups[r.Rule], g.Key())
			}
		}
	}
}

// knowDomains tells every spread the domains in which new nodes may come to be,
// and those where the last round had some.
func (a *Assigner) knowDomains() {
	for _, l := range a.PodTopology.Counts {
		for name, n := range a.cuts.others[l.ID] {
			l.Know(l.At(name))
			l.Record(l.At(name), topology.Part{Selected: true}, n)
		}
	}
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
