package assign

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/topology"
)

// observe records the pods that run, and prepares the machines' loads for rules
// over nodes.
func (a *Assigner) observe() {
	if a.PodTopology == nil {
		return
	}
	a.counted = make([]bitset.Set, len(a.PodTopology.Counts))
	for i, l := range a.PodTopology.Counts {
		a.counted[i] = bitset.Full(len(a.Machines.List))
		if l.Kind == topology.Spread {
			a.compare(i, l)
		}
	}
	for at, m := range a.Machines.List {
		a.record(at, m)
	}
	a.besideDaemons()
	a.unite()
	a.findDeclarers()
	a.levelCaps()
}

// compare finds the nodes that a spread counts, and their domains.
func (a *Assigner) compare(rule int, l *topology.DomainCounts) {
	owner := a.PodTopology.Owners[rule]
	counted := a.counted[rule]
	if !l.IgnoreAffinity {
		counted = a.Machines.Labelled(owner)
		a.counted[rule] = counted
	}
	for at := range counted.All() {
		m := a.Machines.List[at]
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

// record enters the pods of one machine. A spread does not count pods that are on
// their way out.
func (a *Assigner) record(at int, m *supply.Machine) {
	for _, p := range m.Node.Pods {
		if p.Terminal() {
			continue
		}
		for _, r := range a.PodTopology.MembershipsOf(p.Class.Shape) {
			l := a.PodTopology.Counts[r.Rule]
			if l.Kind == topology.Spread && (p.DeletionTimestamp != nil || !a.counted[r.Rule].Has(at)) {
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
func (a *Assigner) levelCaps() {
	for i, l := range a.PodTopology.Counts {
		if l.Kind != topology.Spread || !l.PerNode() || a.ownMore(i) {
			continue
		}
		if least := l.Least(unbounded); least > 0 {
			for _, m := range a.Machines.List {
				m.Load.Count(int32(i), -int32(least))
			}
		}
	}
}

// ownMore reports whether some owner of a rule has another one.
func (a *Assigner) ownMore(rule int) bool {
	return slices.ContainsFunc(a.Batch.Groups, func(g *demand.Group) bool {
		declared, more := false, false
		for _, r := range g.Shape.Memberships {
			declared = declared || r.Declares && r.Rule == rule
			more = more || r.Declares && r.Rule != rule
		}
		return declared && more
	})
}
