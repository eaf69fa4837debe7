package demand

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Company is who may be near whom: the rules of all pods that matter, with a
// ledger for each. It is nil where no pod has any.
type Company struct {
	Ledgers []*topology.Ledger
	byID    map[string]int
	// owned are the rules of each shape, roles memoises in what else it takes part.
	owned map[*snapshot.Shape][]int
	roles map[*snapshot.Shape][]Role
	// Wanted are the rules that pending pods own.
	Wanted map[int]bool
}

// Role is a shape's part in a rule.
type Role struct {
	Rule int
	topology.Part
}

// newCompany collects the rules that the pods own, and the anti-affinity of the
// pods that run. Rules that cannot be read make no entry; see addCompany.
func (b *Batch) newCompany(classes []*snapshot.Class) *Company {
	c := &Company{
		byID: map[string]int{}, owned: map[*snapshot.Shape][]int{}, roles: map[*snapshot.Shape][]Role{},
		Wanted: map[int]bool{},
	}
	for _, class := range classes {
		_ = c.own(class.Shape, b.Snap.Namespaces, false)
		for _, id := range c.owned[class.Shape] {
			c.Wanted[id] = true
		}
	}
	for _, n := range b.Snap.Nodes {
		for _, p := range n.Pods {
			if a := p.Class.Affinity; a != nil && a.PodAntiAffinity != nil && !p.Terminal() {
				_ = c.own(p.Class.Shape, b.Snap.Namespaces, true)
			}
		}
	}
	if len(c.Ledgers) == 0 {
		return nil
	}
	return c
}

// own adds the rules of a shape; of pods that run, only those that keep others
// away.
func (c *Company) own(s *snapshot.Shape, namespaces map[string]map[string]string, running bool) error {
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
			id = len(c.Ledgers)
			c.byID[rules[i].ID] = id
			c.Ledgers = append(c.Ledgers, topology.NewLedger(&rules[i]))
		}
		c.owned[s] = append(c.owned[s], id)
	}
	return nil
}

// RolesOf are all the rules in which a shape takes part, in order.
func (c *Company) RolesOf(s *snapshot.Shape) []Role {
	if c == nil {
		return nil
	}
	if known, ok := c.roles[s]; ok {
		return known
	}
	var out []Role
	for i, l := range c.Ledgers {
		part := topology.Part{Owns: slices.Contains(c.owned[s], i), Selected: l.Selects(s)}
		if part.Owns || part.Selected {
			out = append(out, Role{i, part})
		}
	}
	c.roles[s] = out
	return out
}

// addCompany is the rule of topology: what it demands is looked at for all pods
// together, once it is known who there is.
func addCompany(b *Batch, from *snapshot.Shape, to *Shape) {
	if len(from.Spread) > 0 || from.Affinity != nil {
		if _, err := topology.RulesOf(from, b.Snap.Namespaces); err != nil {
			to.refuse(plan.Reason{Code: plan.ConstraintsInvalid, Have: err.Error()})
			return
		}
	}
	to.Roles = b.Company.RolesOf(from)
}

// topologyTokens is where the tokens of anti-affinity begin, above those of ports.
const topologyTokens = 1 << 20

// Tokens are what a pod with the roles brings onto its node, and what it cannot be
// with there: the owner of an anti-affinity with those that it selects.
func (c *Company) Tokens(roles []Role) (present, conflicts []pack.Token) {
	for _, r := range roles {
		if l := c.Ledgers[r.Rule]; !l.PerNode() || l.Kind != topology.AntiAffinity {
			continue
		}
		owner, selected := pack.Token(topologyTokens+2*r.Rule), pack.Token(topologyTokens+2*r.Rule+1)
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
func (c *Company) caps(roles []Role) []pack.Cap {
	var out []pack.Cap
	for _, r := range roles {
		if l := c.Ledgers[r.Rule]; l.PerNode() && l.Kind == topology.Spread {
			out = append(out, pack.Cap{Group: int32(r.Rule), Max: int32(l.MaxSkew), Minds: r.Owns})
		}
	}
	return out
}

func Unsatisfiable(l *topology.Ledger) plan.Reason {
	return plan.Reason{Code: plan.TopologyNotSatisfiable, Want: l.String(), Have: l.Standing()}
}

func (c *Company) PartOf(p *snapshot.Pod, rule int) topology.Part {
	for _, r := range c.RolesOf(p.Class.Shape) {
		if r.Rule == rule {
			return r.Part
		}
	}
	return topology.Part{}
}
