package placement

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
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
	// wanted are the rules that pending pods own.
	wanted map[int]bool
}

// role is a shape's part in a rule.
type role struct {
	rule int
	topology.Part
}

// newCompany collects the rules that the pods own, and the anti-affinity of the
// pods that run. Rules that cannot be read make no entry; see addCompany.
func (b *batch) newCompany(classes []*snapshot.Class) *company {
	c := &company{
		byID: map[string]int{}, owned: map[*snapshot.Shape][]int{}, roles: map[*snapshot.Shape][]role{},
		wanted: map[int]bool{},
	}
	for _, class := range classes {
		_ = c.own(class.Shape, b.snap.Namespaces, false)
		for _, id := range c.owned[class.Shape] {
			c.wanted[id] = true
		}
	}
	for _, n := range b.snap.Nodes {
		for _, p := range n.Pods {
			if a := p.Class.Affinity; a != nil && a.PodAntiAffinity != nil && !p.Terminal() {
				_ = c.own(p.Class.Shape, b.snap.Namespaces, true)
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
func addCompany(b *batch, from *snapshot.Shape, to *shape) {
	if len(from.Spread) > 0 || from.Affinity != nil {
		if _, err := topology.RulesOf(from, b.snap.Namespaces); err != nil {
			to.refuse(plan.Reason{Code: plan.ConstraintsInvalid, Have: err.Error()})
			return
		}
	}
	to.roles = b.company.rolesOf(from)
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
