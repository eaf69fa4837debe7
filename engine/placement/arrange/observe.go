package arrange

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
func (a *Arranger) observe() {
	if a.Company == nil {
		return
	}
	a.findOwners()
	for i, l := range a.Company.Ledgers {
		if l.Kind == topology.Spread {
			a.observeSpread(i, l)
			continue
		}
		a.counted[i] = bitset.Full(len(a.Machines.List))
		for _, m := range a.Machines.List {
			if domain, ok := m.Domain(l.Key); ok {
				a.record(m, i, l, domain, true)
			}
		}
	}
	a.levelCaps()
}

// observeSpread counts on the nodes that a spread compares.
func (a *Arranger) observeSpread(i int, l *topology.Ledger) {
	owner := a.owners[i]
	if owner == nil {
		return
	}
	counted := bitset.Full(len(a.Machines.List))
	if !l.IgnoreAffinity {
		counted = a.Machines.Labelled(owner)
	}
	a.counted[i] = counted
	for at := range counted.All() {
		m := a.Machines.List[at]
		if l.HonorTaints {
			if _, kept := taints.Untolerated(m.Taints, owner.Tolerations); kept {
				counted.Remove(at)
				continue
			}
		}
		if domain, ok := m.Domain(l.Key); ok {
			l.Known[domain] = true
			a.record(m, i, l, domain, false)
			continue
		}
		// A machine that is not launched yet will be in one of several.
		if r := m.Says(l.Key); r.Finite() {
			for _, domain := range r.Values() {
				l.Known[domain] = true
			}
		}
	}
}

// findOwners notes a shape that owns each rule; all owners of a spread agree on
// what it depends on.
func (a *Arranger) findOwners() {
	a.owners = make([]*demand.Shape, len(a.Company.Ledgers))
	a.groups = make([][]string, len(a.Company.Ledgers))
	a.counted = make([]bitset.Set, len(a.Company.Ledgers))
	for _, g := range a.Batch.Groups {
		for _, r := range g.Shape.Roles {
			if r.Selected && !r.Owns {
				a.awaited[r.Rule] = true
			}
			if r.Owns {
				a.owners[r.Rule] = g.Shape
				a.groups[r.Rule] = append(a.groups[r.Rule], g.Key())
			}
		}
	}
}

// record enters the pods of one machine. A spread does not count pods that are on
// their way out.
func (a *Arranger) record(m *supply.Machine, i int, l *topology.Ledger, domain string, ending bool) {
	for _, p := range m.Node.Pods {
		if p.Terminal() || !ending && p.DeletionTimestamp != nil {
			continue
		}
		for _, r := range a.Company.RolesOf(p.Class.Shape) {
			if r.Rule != i {
				continue
			}
			l.Record(domain, r.Part)
			if l.PerNode() && l.Kind == topology.Spread && r.Selected {
				m.Load.Count(int32(i), 1)
			}
		}
	}
}

// levelCaps lets existing nodes count from the node with the fewest pods of a
// spread: that is what the scheduler compares with as long as there is no new
// node. Pods with further rules may have to wait for those, and then it is too
// late.
func (a *Arranger) levelCaps() {
	for i, l := range a.Company.Ledgers {
		if l.Kind != topology.Spread || !l.PerNode() || len(l.Known) < max(1, l.MinDomains) || a.ownMore(i) {
			continue
		}
		least := 1 << 30
		for domain := range l.Known {
			least = min(least, l.Selected[domain])
		}
		for _, m := range a.Machines.List {
			if least > 0 {
				m.Load.Count(int32(i), -int32(least))
			}
		}
	}
}

// ownMore reports whether some owner of a rule has another one.
func (a *Arranger) ownMore(rule int) bool {
	return slices.ContainsFunc(a.Batch.Groups, func(g *demand.Group) bool {
		owned, more := false, false
		for _, r := range g.Shape.Roles {
			owned = owned || r.Owns && r.Rule == rule
			more = more || r.Owns && r.Rule != rule
		}
		return owned && more
	})
}
