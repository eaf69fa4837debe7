package disruption

import (
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// placeMovers finds a place for the pods of all commands but those whose replacements
// are to be launched now, and calls off those for which there is none.
func (u *underway) placeMovers(standing []*group, gone []*snapshot.Node) {
	var movers []*snapshot.Node
	for _, g := range standing {
		if g.step != Launch && g.step != "" && g.Cause != Empty {
			movers = append(movers, g.nodes...)
		}
	}
	u.world.Remove(gone)
	if len(movers) == 0 {
		return
	}
	answer := u.world.Ask(movers)
	u.world.Go(movers, answer)
	unplaced := answer.WithoutRoom()
	unready := unready(answer)
	for _, g := range standing {
		for _, n := range g.nodes {
			u.countOn(n, answer)
			pod := unplaced[n.Name]
			switch {
			case g.step != Remove || g.Cause == Empty || u.static(n):
			case pod != nil && g.Cause == Underutilized:
				if g.Replaced { // launched for nothing: the same again would be launched the next time
					u.fail(g)
				}
				u.callOff(g, n, fitsNowhere(pod, n))
			case pod != nil:
				g.step = Launch
			case unready[n.Name]:
				g.step = Await
			}
		}
	}
}

// unready are the machines some of whose pods count on one that is not initialized.
func unready(a whatif.Answer) map[string]bool {
	out := map[string]bool{}
	for _, p := range a.Placements {
		if !p.Node.Initialized() {
			out[a.From(p.Pod)] = true
		}
	}
	return out
}

// countOn notes the machines that will take a machine's pods.
func (d *decider) countOn(from *snapshot.Node, a whatif.Answer) {
	for _, p := range a.Placements {
		if a.From(p.Pod) == from.Name && d.counted[p.Node.Name] == nil {
			d.counted[p.Node.Name] = from
		}
	}
}
