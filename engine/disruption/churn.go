package disruption

import (
	"github.com/millwright-dev/millwright/engine/disruption/churnlog"
	"github.com/millwright-dev/millwright/engine/disruption/consolidate"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// churn is how many of a pool's pods voluntary disruption has evicted lately, and how much
// of what that saved was spent again.
func (c *consolidation) churn(p *snapshot.Pool, machines []churnlog.Machine) consolidate.Churn {
	evicted, until := churnlog.Evictions(p, c.s.Now, *p.Policy.Disruption.Defaulted().LoopFreeze)
	out := consolidate.Churn{Evicted: evicted, Until: until}
	out.Spent, out.Wasted = churnlog.Wasted(p, machines, c.s.Now)
	for _, m := range machines {
		out.Pods += Movers(m.Node)
	}
	return out
}

// machinesOf are those of a pool with their prices.
func machinesOf(s *snapshot.Snapshot, p *snapshot.Pool) []churnlog.Machine {
	var out []churnlog.Machine
	for _, n := range s.Nodes {
		if n.Pool() == p.Name {
			out = append(out, churnlog.Machine{Node: n, Price: Price(p, n)})
		}
	}
	return out
}

// Noted reports whether what a command does next is noted on the pools of its machines before:
// if it takes machines away that could have stayed.
func (c Command) Noted() bool { return c.Step == Remove && !c.Cause.Urgent() }

// Note is what a pool has to remember when the machines of commands go; nil if it is
// nothing new. It is asked before they go: machines that came and go again show what was
// spent.
func Note(s *snapshot.Snapshot, commands []Command, p *snapshot.Pool) []snapshot.PoolMove {
	var e snapshot.PoolMove
	going := false
	for _, c := range commands {
		if !c.Noted() {
			continue
		}
		e.Commands = append(e.Commands, c.ID)
		if churnlog.Knows(p, c.ID) {
			continue
		}
		for _, n := range c.Nodes {
			if n.Claim.Pool == p.Name {
				going = true
				e.Pods += Movers(n)
				if c.Cause == Underutilized {
					e.Saved += c.Saving / float64(len(c.Nodes))
				}
			}
		}
	}
	if !going {
		return nil
	}
	return churnlog.Note(p, machinesOf(s, p), e, s.Now)
}
