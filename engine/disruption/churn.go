package disruption

import (
	"github.com/millwright-dev/millwright/engine/disruption/consolidate"
	"github.com/millwright-dev/millwright/engine/disruption/ledger"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// churn is how many of a pool's pods voluntary disruption has evicted lately, and how much
// of what that saved was spent again.
func (d *decider) churn(p *snapshot.Pool) consolidate.Churn {
	evicted, until := ledger.Evictions(p, d.s.Now, *p.Policy.Disruption.Defaulted().LoopFreeze)
	if evicted == 0 {
		return consolidate.Churn{}
	}
	machines := machinesOf(d.s, p)
	c := consolidate.Churn{Evicted: evicted, Wasted: ledger.Wasted(p, machines, d.s.Now), Until: until}
	for _, m := range machines {
		c.Pods += movers(m.Node)
	}
	return c
}

// machinesOf are those of a pool with their prices.
func machinesOf(s *snapshot.Snapshot, p *snapshot.Pool) []ledger.Machine {
	var out []ledger.Machine
	for _, n := range s.Nodes {
		if n.Claim != nil && n.Claim.Pool == p.Name {
			out = append(out, ledger.Machine{Node: n, Price: Price(p, n)})
		}
	}
	return out
}

// Note is what a pool has to remember when the machines of commands go; nil if it is
// nothing new. It is asked before they go: machines that came and go again show what was
// spent.
func Note(s *snapshot.Snapshot, commands []Command, p *snapshot.Pool) []snapshot.PoolMove {
	var e ledger.Entry
	going := false
	for _, c := range commands {
		if c.Step != Remove || c.Cause.Urgent() {
			continue
		}
		for _, n := range c.Nodes {
			if n.Claim.Pool == p.Name {
				going = true
				e.Pods += movers(n)
				if c.Cause == Underutilized {
					e.Saved += c.Saving / float64(len(c.Nodes))
				}
			}
		}
	}
	if !going {
		return nil
	}
	e.Machines = machinesOf(s, p)
	return ledger.Note(p, e, s.Now)
}
