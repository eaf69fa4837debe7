package disruption

import (
	"cmp"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// group is a command under way.
type group struct {
	Progress
	nodes []*snapshot.Node
	// comers are the replacements that exist, by claim name.
	comers map[string]*snapshot.Node
	// committed is true once one of its machines is being deleted.
	committed bool
	step      Step
	until     time.Time
}

// groups reads the commands off the machines, those that have come furthest
// first, then the dearest.
func groups(s *snapshot.Snapshot) []*group {
	byID := map[string]*group{}
	var out []*group
	leaving := map[string]bool{}
	for _, n := range s.Nodes {
		if !Marked(n) {
			continue
		}
		p := progressOf(n)
		if n.Deleting() {
			leaving[p.ID] = true
			continue
		}
		g := byID[p.ID]
		if g == nil {
			g = &group{Progress: p, comers: map[string]*snapshot.Node{}}
			byID[p.ID], out = g, append(out, g)
		}
		if p.Replaced {
			g.Progress = p
		}
		g.nodes = append(g.nodes, n)
	}
	for _, n := range s.Nodes {
		if n.Claim == nil {
			continue
		}
		if g := byID[n.Claim.Annotations[snapshot.ReplacesAnnotation]]; g != nil {
			g.comers[n.Claim.Name] = n
		}
	}
	for _, g := range out {
		g.committed = leaving[g.ID]
	}
	slices.SortStableFunc(out, func(a, b *group) int {
		return cmp.Or(
			-cmp.Compare(progress(a.nodes[0]), progress(b.nodes[0])),
			-cmp.Compare(priceOf(s, a.nodes), priceOf(s, b.nodes)),
			cmp.Compare(a.nodes[0].Name, b.nodes[0].Name),
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
