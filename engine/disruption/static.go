package disruption

import (
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/static"
)

// static reports whether a machine's pool keeps a fixed number of machines.
func (d *decider) static(n *snapshot.Node) bool { return d.s.Pool(n.Claim.Pool).Replicas != nil }

// beginStatic replaces a machine of a static pool by another one of the pool.
func (d *decider) beginStatic(n *snapshot.Node) {
	p := d.s.Pool(n.Claim.Pool)
	v := d.verdict(n)
	fresh, ok := static.Template(d.s, p)
	if !ok {
		v.Reason = plan.Reason{Code: plan.NothingCheaper, Objects: plan.MachineRefs(n)}
		return
	}
	launch := []plan.NewNode{fresh}
	if reason, over := d.exceeded(launch); over {
		v.Reason = reason
		return
	}
	one := []*snapshot.Node{n}
	d.world.Remove(one)
	d.begin(newProgress(v.Cause, one, d.s.Now), one, launch)
}

// replaceStatic launches a static pool's replacement.
func (d *decider) replaceStatic(g *group) {
	fresh, ok := static.Template(d.s, d.s.Pool(g.nodes[0].Claim.Pool))
	if !ok {
		d.callOff(g, g.nodes[0], plan.Reason{Code: plan.LimitHolds, Objects: poolRef(d.s.Pool(g.nodes[0].Claim.Pool)), Have: "no machine can be had"})
		return
	}
	launch := []plan.NewNode{fresh}
	if reason, over := d.exceeded(launch); over {
		d.callOff(g, g.nodes[0], reason)
		return
	}
	d.command(g, launch)
	g.step = ""
}
