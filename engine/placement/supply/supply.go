package supply

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Supply is where the pods of a batch could go: machines that exist or are on
// their way, and those that could be launched. It is not safe for concurrent use.
type Supply struct {
	*demand.Batch
	Daemons   []*Daemon
	Machines  *Machines
	Offerings *Offerings
	cache     *Cache
}

// New compiles where the pods of a batch could go. What of that depends on nothing
// but the instance types is looked up in a cache; what pools have of their limits, in a
// ledger.
func New(b *demand.Batch, c *Cache, ledger *limit.Ledger) *Supply {
	s := &Supply{Batch: b, cache: c}
	for _, d := range b.Snap.DaemonSets {
		s.Daemons = append(s.Daemons, s.newDaemon(d))
	}
	s.Offerings = s.newOfferings(ledger)
	s.Machines = s.newMachines()
	return s
}

// RuleOf is the inter-pod rule that stands in a group's way: the first that it
// declares, or declared before it was bound to a domain, else one of other pods.
func (s *Supply) RuleOf(g *demand.Group) plan.Reason {
	memberships := g.Shape.Memberships
	if g.Origin != nil {
		memberships = slices.Concat(memberships, g.Origin.Shape.Memberships)
	}
	if len(memberships) > 0 {
		at := max(0, slices.IndexFunc(memberships, func(x demand.Membership) bool { return x.Declares }))
		return demand.Unsatisfiable(s.PodTopology.Counts[memberships[at].Rule])
	}
	return plan.Reason{Code: plan.TopologyNotSatisfiable, Want: "room beside the pods it must share a node with", Have: "they leave none"}
}
