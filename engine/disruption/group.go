package disruption

import (
	"cmp"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// group is a command under way.
type group struct {
	Command
	// committed is true once one of its machines is being deleted, failed if its
	// replacements were launched and are of no use.
	committed, failed bool
	until             time.Time
}

// groups reads the commands off the machines, those that have come furthest
// first, then the dearest.
func groups(s *snapshot.Snapshot) []*group {
	byID := map[string]*group{}
	var out []*group
	for _, n := range s.Nodes {
		if !Marked(n) {
			continue
		}
		p := progressOf(n)
		g := byID[p.ID]
		if g == nil {
			g = &group{Command: Command{Progress: p}}
			byID[p.ID], out = g, append(out, g)
		}
		switch {
		case n.Deleting():
			g.committed = true
			continue
		case p.Replaced:
			g.Progress = p
		}
		g.Nodes = append(g.Nodes, n)
	}
	out = slices.DeleteFunc(out, func(g *group) bool { return len(g.Nodes) == 0 })
	slices.SortStableFunc(out, func(a, b *group) int {
		return cmp.Or(
			-cmp.Compare(progress(a.Nodes[0]), progress(b.Nodes[0])),
			-cmp.Compare(priceOf(s, a.Nodes), priceOf(s, b.Nodes)),
			cmp.Compare(a.Nodes[0].Name, b.Nodes[0].Name),
		)
	})
	return out
}

// progress ranks machines by how far a command for them has come: the condition
// is written after the taint.
func progress(n *snapshot.Node) int {
	rank := 0
	if n.Claim.Is(snapshot.DisruptionReason) {
		rank += 2
	}
	if tainted(n) {
		rank++
	}
	return rank
}
