package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// company is who may be near whom: the rules of all pods that matter, with a
// ledger for each. It is nil where no pod has any.
type company struct {
	ledgers []*topology.Ledger
	byID    map[string]int
	// owned are the rules of each shape, roles memoises in what else it takes part.
	owned map[*snapshot.Shape][]int
	roles map[*snapshot.Shape][]role
	// wanted are the rules that pending pods own, owners a shape that owns each of
	// them, nil if none does.
	wanted map[int]bool
	owners []*shape
	// groups are the keys of the owners' groups, counted the machines that a spread
	// compares; both by rule.
	groups  [][]string
	counted []bitset.Set
	// awaited are the rules that select pending pods which do not own them.
	awaited map[int]bool
}

// role is a shape's part in a rule.
type role struct {
	rule int
	topology.Part
}

// newCompany collects the rules that the pods own, and the anti-affinity of the
// pods that run. Rules that cannot be read make no entry; see addCompany.
func (w *world) newCompany(classes []*snapshot.Class) *company {
	c := &company{
		byID: map[string]int{}, owned: map[*snapshot.Shape][]int{}, roles: map[*snapshot.Shape][]role{},
		wanted: map[int]bool{}, awaited: map[int]bool{},
	}
	for _, class := range classes {
		_ = c.own(class.Shape, w.s.Namespaces, false)
		for _, id := range c.owned[class.Shape] {
			c.wanted[id] = true
		}
	}
	for _, n := range w.s.Nodes {
		for _, p := range n.Pods {
			if a := p.Class.Affinity; a != nil && a.PodAntiAffinity != nil && !p.Terminal() {
				_ = c.own(p.Class.Shape, w.s.Namespaces, true)
			}
		}
	}
	if len(c.ledgers) == 0 {
		return nil
	}
	return c
}

// own adds the rules of a shape; of pods that run, only those that keep others
// away.
func (c *company) own(s *snapshot.Shape, namespaces map[string]map[string]string, running bool) error {
	if _, ok := c.owned[s]; ok || len(s.Spread) == 0 && s.Affinity == nil {
		return nil
	}
	rules, err := topology.RulesOf(s, namespaces)
	if err != nil {
		return err
	}
	for i := range rules {
		if running && rules[i].Kind != topology.AntiAffinity {
			continue
		}
		id, ok := c.byID[rules[i].ID]
		if !ok {
			id = len(c.ledgers)
			c.byID[rules[i].ID] = id
			c.ledgers = append(c.ledgers, topology.NewLedger(&rules[i]))
		}
		c.owned[s] = append(c.owned[s], id)
	}
	return nil
}

// rolesOf are all the rules in which a shape takes part, in order.
func (c *company) rolesOf(s *snapshot.Shape) []role {
	if c == nil {
		return nil
	}
	if known, ok := c.roles[s]; ok {
		return known
	}
	var out []role
	for i, l := range c.ledgers {
		part := topology.Part{Owns: slices.Contains(c.owned[s], i), Selected: l.Selects(s)}
		if part.Owns || part.Selected {
			out = append(out, role{i, part})
		}
	}
	c.roles[s] = out
	return out
}

// addCompany is the rule of topology: what it demands is looked at for all pods
// together, once it is known who there is.
func addCompany(w *world, from *snapshot.Shape, to *shape) {
	if len(from.Spread) > 0 || from.Affinity != nil {
		if _, err := topology.RulesOf(from, w.s.Namespaces); err != nil {
			to.refuse(plan.Reason{Code: plan.ConstraintsInvalid, Have: err.Error()})
			return
		}
	}
	to.roles = w.company.rolesOf(from)
}

// topologyTokens is where the tokens of anti-affinity begin, above those of ports.
const topologyTokens = 1 << 20

// tokens are what a pod with the roles brings onto its node, and what it cannot be
// with there: the owner of an anti-affinity with those that it selects.
func (c *company) tokens(roles []role) (present, conflicts []pack.Token) {
	for _, r := range roles {
		if l := c.ledgers[r.rule]; !l.PerNode() || l.Kind != topology.AntiAffinity {
			continue
		}
		owner, selected := pack.Token(topologyTokens+2*r.rule), pack.Token(topologyTokens+2*r.rule+1)
		if r.Owns {
			present, conflicts = append(present, owner), append(conflicts, selected)
		}
		if r.Selected {
			present, conflicts = append(present, selected), append(conflicts, owner)
		}
	}
	slices.Sort(present)
	slices.Sort(conflicts)
	return present, conflicts
}

// caps are the spreads over nodes in which the roles take part. A node that does
// not exist yet has none of the pods, so no node where one of the owners is may
// have more than maxSkew.
func (c *company) caps(roles []role) []pack.Cap {
	var out []pack.Cap
	for _, r := range roles {
		if l := c.ledgers[r.rule]; l.PerNode() && l.Kind == topology.Spread {
			out = append(out, pack.Cap{Group: int32(r.rule), Max: int32(l.MaxSkew), Minds: r.Owns})
		}
	}
	return out
}

// observe records the pods that run, and prepares the machines' loads for rules
// over nodes.
func (w *world) observe() {
	if w.company == nil {
		return
	}
	w.findOwners()
	for i, l := range w.company.ledgers {
		if l.Kind == topology.Spread {
			w.observeSpread(i, l)
			continue
		}
		w.company.counted[i] = bitset.Full(len(w.machines.list))
		for _, m := range w.machines.list {
			if domain, ok := m.domain(l.Key); ok {
				w.record(m, i, l, domain, true)
			}
		}
	}
	w.levelCaps()
}

// observeSpread counts on the nodes that a spread compares.
func (w *world) observeSpread(i int, l *topology.Ledger) {
	owner := w.company.owners[i]
	if owner == nil {
		return
	}
	counted := bitset.Full(len(w.machines.list))
	if !l.IgnoreAffinity {
		counted = w.machines.labelled(owner)
	}
	w.company.counted[i] = counted
	for at := range counted.All() {
		m := w.machines.list[at]
		if l.HonorTaints {
			if _, kept := taints.Untolerated(m.taints, owner.tolerations); kept {
				counted.Remove(at)
				continue
			}
		}
		if domain, ok := m.domain(l.Key); ok {
			l.Known[domain] = true
			w.record(m, i, l, domain, false)
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
func (w *world) findOwners() {
	w.company.owners = make([]*shape, len(w.company.ledgers))
	w.company.groups = make([][]string, len(w.company.ledgers))
	w.company.counted = make([]bitset.Set, len(w.company.ledgers))
	for _, g := range w.groups {
		for _, r := range g.shape.roles {
			if r.Selected && !r.Owns {
				w.company.awaited[r.rule] = true
			}
			if r.Owns {
				w.company.owners[r.rule] = g.shape
				w.company.groups[r.rule] = append(w.company.groups[r.rule], g.key())
			}
		}
	}
}

// record enters the pods of one machine. A spread does not count pods that are on
// their way out.
func (w *world) record(m *machine, i int, l *topology.Ledger, domain string, ending bool) {
	for _, p := range m.node.Pods {
		if p.Terminal() || !ending && p.DeletionTimestamp != nil {
			continue
		}
		for _, r := range w.company.rolesOf(p.Class.Shape) {
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
func (w *world) levelCaps() {
	for i, l := range w.company.ledgers {
		if l.Kind != topology.Spread || !l.PerNode() || len(l.Known) < max(1, l.MinDomains) || w.ownMore(i) {
			continue
		}
		least := 1 << 30
		for domain := range l.Known {
			least = min(least, l.Selected[domain])
		}
		for _, m := range w.machines.list {
			if least > 0 {
				m.load.Count(int32(i), -int32(least))
			}
		}
	}
}

// ownMore reports whether some owner of a rule has another one.
func (w *world) ownMore(rule int) bool {
	return slices.ContainsFunc(w.groups, func(g *group) bool {
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
