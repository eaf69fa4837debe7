package disruption

import (
	"maps"
	"slices"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption/consolidate"
	"github.com/millwright-dev/millwright/engine/disruption/headroom"
	"github.com/millwright-dev/millwright/engine/disruption/ledger"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// rested keeps machines that have been quiet for consolidateAfter, but not for as much
// longer as their pool has learned that what it removes comes back in.
func rested(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	l := e.learned(p)
	since := quietSince(n.Claim)
	until := since.Add(*p.Disruption.ConsolidateAfter + l.Rest)
	return plan.Reason{
		Code: plan.LoopDetected, Objects: poolRef(p), Have: l.Kind, Since: since, Until: until,
	}, l.Rest > 0 && e.s.Now.Before(until)
}

func (e *examiner) learned(p *snapshot.Pool) ledger.Lesson {
	l, known := e.lessons[p.Name]
	if !known {
		l = ledger.Learn(p, machinesOf(e.s.Nodes, p), e.s.Now)
		e.lessons[p.Name] = l
	}
	return l
}

// keepRoom looks at the room that pools have which must keep some.
func (d *decider) keepRoom() {
	d.rooms = map[string]*headroom.Room{}
	for _, p := range d.s.Pools {
		if l := d.learned(p); l.Again > 0 {
			d.rooms[p.Name] = headroom.New(machinesOf(d.world.Machines(), p), d.s.Now.Add(-l.Again), d.s.Now)
		}
	}
}

// needed keeps machines of pools that have learned that what they remove comes back,
// while there would be no room without them if as many pods started again as have, or a
// full hour is about to strike. If neither is so, they are gone as far as the next question
// is concerned.
func (d *decider) needed(nodes []*snapshot.Node, placements []plan.Placement, launch []plan.NewNode) (plan.Reason, bool) {
	left := maps.Clone(d.rooms)
	for _, p := range d.s.Pools {
		if d.rooms[p.Name] == nil || len(machinesOf(nodes, p)) == 0 {
			continue
		}
		l := d.learned(p)
		others := func(n plan.NewNode) bool { return n.Pool != p.Name }
		room, suffices := d.rooms[p.Name].Without(nodes, placements, slices.DeleteFunc(slices.Clone(launch), others))
		if !suffices {
			return plan.Reason{
				Code: plan.LoopDetected, Objects: poolRef(p), Have: l.Kind, Want: l.Again.String(), Since: room.First, Until: room.First.Add(l.Again),
			}, true
		}
		if until := l.Struck(d.s.Now); !until.IsZero() {
			return plan.Reason{Code: plan.LoopDetected, Objects: poolRef(p), Have: l.Kind, Until: until}, true
		}
		left[p.Name] = room
	}
	d.rooms = left
	return plan.Reason{}, false
}

func machinesOf(nodes []*snapshot.Node, p *snapshot.Pool) []*snapshot.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *snapshot.Node) bool { return n.Claim == nil || n.Claim.Pool != p.Name })
}

// undone says that a move would take an earlier one back.
func (d *decider) undone(n *snapshot.Node, m consolidate.Move) (plan.Reason, bool) {
	var launch []catalog.Choice
	for i := range m.Launch {
		launch = append(launch, m.Launch[i].Choice)
	}
	kind, until, undone := ledger.Undone(d.s.Pool(n.Claim.Pool), m.Nodes, launch, d.s.Now)
	return plan.Reason{Code: plan.WouldUndo, Objects: plan.MachineRefs(n), Have: kind, Until: until}, undone
}

// Note is what a pool has to remember when the machines of commands go; nil if it is
// nothing.
func Note(s *snapshot.Snapshot, commands []Command, p *snapshot.Pool) []snapshot.PoolMove {
	var e ledger.Entry
	for _, c := range commands {
		if c.Step != Remove || c.Cause.Urgent() {
			continue
		}
		before := len(e.Gone)
		for _, n := range c.Nodes {
			if n.Claim.Pool != p.Name {
				continue
			}
			e.Pods += movers(n)
			switch c.Cause {
			case Underutilized:
				e.Gone = append(e.Gone, n)
			case Empty:
				if !n.Claim.LastPodEvent.IsZero() { // else no pod has ever needed it
					e.Empty = append(e.Empty, n)
				}
			}
		}
		for _, name := range c.Replacements {
			if n := s.Node(name); n != nil && len(e.Gone) > before {
				e.Came = append(e.Came, n)
			}
		}
	}
	if e.Pods == 0 && len(e.Empty) == 0 {
		return nil
	}
	e.Live = machinesOf(s.Nodes, p)
	return ledger.Note(p, e, s.Now)
}
