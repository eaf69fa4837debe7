package disruption

import (
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// command lists a group's command and gives its machines their verdicts.
func (d *decider) command(g *group, launch []plan.NewNode) {
	d.list(Command{Progress: g.Progress, Nodes: g.nodes, Step: g.step, Launch: launch}, g.until)
}

// list adds a command.
func (d *decider) list(c Command, until time.Time) {
	c.Pool = c.Nodes[0].Claim.Pool
	d.Commands = append(d.Commands, c)
	for _, n := range c.Nodes {
		objects := plan.MachineRefs(n)
		for _, name := range c.Replacements {
			objects = append(objects, plan.ObjectRef{Kind: "NodeClaim", Name: name})
		}
		*d.verdict(n) = Verdict{
			Node: n, Disrupting: true, Cause: c.Cause, Saving: c.Saving / float64(len(c.Nodes)),
			Reason: plan.Reason{
				Code: plan.Disrupting, Objects: objects, Want: string(c.Cause), Have: because(requested(n), doing(c)),
				Since: n.Claim.Conditions[snapshot.DisruptionReason].Since, Until: until,
			},
		}
	}
}

// doing words what a command waits for; empty for nothing.
func doing(c Command) string {
	switch {
	case c.Step == Launch:
		return fmt.Sprintf("%d machines are launched first", len(c.Launch))
	case c.Step == Await && len(c.Replacements) > 0:
		return "waits until " + c.Replacements[0] + " is initialized"
	case c.Step == Await:
		return "waits for a machine on its way"
	}
	return ""
}
