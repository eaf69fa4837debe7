package interruption

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// budgets are what the NodePools' disruption budgets leave for rules that respect them. Such
// budgets name no reasons, as those that hold expiry back.
type budgets struct {
	s       *snapshot.Snapshot
	allowed []disruption.Allowance
	// spent are the machines of each pool that begin to go, or are being replaced or
	// restarted because of an interruption.
	spent map[string]int
}

func newBudgets(s *snapshot.Snapshot) *budgets {
	b := &budgets{s: s, spent: map[string]int{}}
	for _, n := range s.Nodes {
		if n.Claim != nil && !n.Deleting() && (replaced(n) || restart.Of(n.Claim).UnderWay()) {
			b.spend(n)
		}
	}
	return b
}

// spend counts a machine that begins to go; one that is not ready counts already.
func (b *budgets) spend(n *snapshot.Node) {
	if n.Object == nil || snapshot.Ready(n.Object) {
		b.spent[n.Claim.Pool]++
	}
}

// keep has a machine wait for the budgets of its pool if the rule by which it would go
// respects them.
func (b *budgets) keep(r *Response) {
	if !r.begins().rule.RespectPoolBudgets || r.late(b.s.Now) {
		return
	}
	if b.allowed == nil {
		b.allowed = disruption.Allowances(b.s)
	}
	pool := r.Node.Claim.Pool
	i := slices.IndexFunc(b.allowed, func(a disruption.Allowance) bool { return a.Pool == pool && a.Cause == disruption.Expired })
	if a := b.allowed[i]; a.Invalid != "" || a.Remaining() <= b.spent[pool] {
		r.hold(a.Reason(b.spent[pool]))
	}
}
