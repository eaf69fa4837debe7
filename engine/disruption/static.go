package disruption

import (
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/static"
)

// static reports whether a machine's pool keeps a fixed number of machines.
func (d *decider) static(n *snapshot.Node) bool { return d.s.Pool(n.Claim.Pool).Replicas != nil }

// another is one more machine of a static pool, or why there can be none.
func (d *decider) another(pool string) ([]plan.NewNode, *plan.Reason) {
	fresh, none := static.Template(d.s, d.s.Pool(pool), d.room)
	if none != nil {
		return nil, none
	}
	launch := []plan.NewNode{fresh}
	if reason, over := d.room.TakeAll(launch); over {
		return nil, &reason
	}
	return launch, nil
}

// beginStatic replaces a machine of a static pool by another one of the pool.
func (d *decider) beginStatic(n *snapshot.Node) {
	v := d.verdict(n)
	launch, none := d.another(n.Claim.Pool)
	if none != nil {
		v.Reason = *none
		return
	}
	one := []*snapshot.Node{n}
	d.world.Remove(one)
	d.begin(newProgress(v.Cause, one, d.s.Now), one, launch)
}

// replaceStatic launches a static pool's replacement.
func (u *underway) replaceStatic(g *group) {
	launch, none := u.another(g.nodes[0].Claim.Pool)
	if none != nil {
		u.callOff(g, g.nodes[0], *none)
		return
	}
	u.command(g, launch)
	g.step = ""
}
