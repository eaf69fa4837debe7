package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// observe records the pods that run, and prepares the machines' loads for rules
// over nodes.
func (a *arranger) observe() {
	if a.company == nil {
		return
	}
	a.findOwners()
	for i, l := range a.company.ledgers {
		if l.Kind == topology.Spread {
			a.observeSpread(i, l)
			continue
		}
		a.counted[i] = bitset.Full(len(a.machines.list))
		for _, m := range a.machines.list {
			if domain, ok := m.domain(l.Key); ok {
				a.record(m, i, l, domain, true)
			}
		}
	}
	a.levelCaps()
}

// observeSpread counts on the nodes that a spread compares.
func (a *arranger) observeSpread(i int, l *topology.Ledger) {
	owner := a.owners[i]
	if owner == nil {
		return
	}
	counted := bitset.Full(len(a.machines.list))
	if !l.IgnoreAffinity {
		counted = a.machines.labelled(owner)
	}
	a.counted[i] = counted
	for at := range counted.All() {
		m := a.machines.list[at]
		if l.HonorTaints {
			if _, kept := taints.Untolerated(m.taints, owner.tolerations); kept {
				counted.Remove(at)
				continue
			}
		}
		if domain, ok := m.domain(l.Key); ok {
			l.Known[domain] = true
			a.record(m, i, l, domain, false)
			continue
		}
		// A machine that is not launched yet will be in one of several.
		if r := m.says(l.Key); r.Finite() {
			for _, domain := range r.Values() {
				l.Known[domain] = true
			}
		}
	}
}

// findOwners notes a shape that owns each rule; all owners of a spread agree on
// what it depends on.
func (a *arranger) findOwners() {
	a.owners = make([]*shape, len(a.company.ledgers))
	a.groups = make([][]string, len(a.company.ledgers))
	a.counted = make([]bitset.Set, len(a.company.ledgers))
	for _, g := range a.batch.groups {
		for _, r := range g.shape.roles {
			if r.Selected && !r.Owns {
				a.awaited[r.rule] = true
			}
			if r.Owns {
				a.owners[r.rule] = g.shape
				a.groups[r.rule] = append(a.groups[r.rule], g.key())
			}
		}
	}
}

// record enters the pods of one machine. A spread does not count pods that are on
// their way out.
func (a *arranger) record(m *machine, i int, l *topology.Ledger, domain string, ending bool) {
	for _, p := range m.node.Pods {
		if p.Terminal() || !ending && p.DeletionTimestamp != nil {
			continue
		}
		for _, r := range a.company.rolesOf(p.Class.Shape) {
			if r.rule != i {
				continue
			}
			l.Record(domain, r.Part)
			if l.PerNode() && l.Kind == topology.Spread && r.Selected {
				m.load.Count(int32(i), 1)
			}
		}
	}
}

// levelCaps lets existing nodes count from the node with the fewest pods of a
// spread: that is what the scheduler compares with as long as there is no new
// node. Pods with further rules may have to wait for those, and then it is too
// late.
func (a *arranger) levelCaps() {
	for i, l := range a.company.ledgers {
		if l.Kind != topology.Spread || !l.PerNode() || len(l.Known) < max(1, l.MinDomains) || a.ownMore(i) {
			continue
		}
		least := 1 << 30
		for domain := range l.Known {
			least = min(least, l.Selected[domain])
		}
		for _, m := range a.machines.list {
			if least > 0 {
				m.load.Count(int32(i), -int32(least))
			}
		}
	}
}

// ownMore reports whether some owner of a rule has another one.
func (a *arranger) ownMore(rule int) bool {
	return slices.ContainsFunc(a.batch.groups, func(g *group) bool {
		owned, more := false, false
		for _, r := range g.shape.roles {
			owned = owned || r.Owns && r.rule == rule
			more = more || r.Owns && r.rule != rule
		}
		return owned && more
	})
}

// domain is a machine's value of a label, if that is certain. A machine that is on
// its way will be a node of its own, whatever it will be called.
func (m *machine) domain(key string) (string, bool) {
	r := m.says(key)
	if key == corev1.LabelHostname && m.node.Object == nil && len(r.Values()) == 0 {
		return m.node.Name, true
	}
	if !r.Finite() || len(r.Values()) != 1 || r.Absent() {
		return "", false
	}
	return r.Values()[0], true
}

// labelled are the machines whose labels a shape accepts, or may come to accept
// once they are launched.
func (ms *machines) labelled(sh *shape) bitset.Set {
	out := bitset.New(len(ms.list))
	for _, term := range sh.terms {
		out.Or(ms.index.Satisfying(term))
		for i, m := range ms.list {
			if m.node.Object == nil && !slices.ContainsFunc(term, func(r requirement.Requirement) bool { return !m.says(r.Key()).Overlaps(r) }) {
				out.Add(i)
			}
		}
	}
	return out
}
