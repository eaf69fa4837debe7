package placement

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// expected are the pods that controllers are about to create, as far as their siblings are
// to be placed. They are planned as if they were there: a Deployment's first pods would
// otherwise get machines of their own size, and so would the next.
func expected(s *snapshot.Snapshot, pods []*snapshot.Pod) []*snapshot.Pod {
	if len(s.Expected) == 0 {
		return nil
	}
	placed := make(map[*snapshot.Pod]bool, len(pods))
	for _, p := range pods {
		placed[p] = true
	}
	return snapshot.Copies(slices.DeleteFunc(slices.Clone(s.Expected), func(e snapshot.Expected) bool { return !placed[e.Like] }))
}

// expecting is the plan for the pods that exist and for copies of them. If that leaves some
// pods without a place, it is the plan for those that exist alone, as copies may be in their
// way.
func (r *run) expecting(copies []*snapshot.Pod) *plan.Plan {
	if len(copies) == 0 {
		return r.ranked()
	}
	with := *r
	with.pods = slices.Concat(r.pods, copies)
	slices.SortFunc(with.pods, snapshot.ComparePods)
	out := with.ranked()
	if setApart(out, copies); len(out.Unplaced) > 0 {
		return r.ranked()
	}
	return out
}

// setApart moves expected pods and chunks of buffers out of where a plan has the pods that exist.
// Expected pods without a place are left out: their siblings tell why.
func setApart(out *plan.Plan, copies []*snapshot.Pod) {
	copied := make(map[*snapshot.Pod]bool, len(copies))
	for _, p := range copies {
		copied[p] = true
	}
	is := func(p *snapshot.Pod) bool { return copied[p] }
	placed, rest := partition(out.Placements, func(at plan.Placement) bool { return is(at.Pod) })
	out.Expected, out.Placements = append(out.Expected, placed...), rest
	unplaced, left := partition(out.Unplaced, func(u plan.Unplaced) bool { return is(u.Pod) })
	chunks, _ := partition(unplaced, func(u plan.Unplaced) bool { return u.Pod.Buffer != nil })
	out.UnplacedChunks, out.Unplaced = append(out.UnplacedChunks, chunks...), left
	for i := range out.NewNodes {
		n := &out.NewNodes[i]
		expected, pods := partition(n.Pods, is)
		n.Expected, n.Pods = append(n.Expected, expected...), pods
	}
	for i := range out.Relaxed {
		out.Relaxed[i].Pods = slices.DeleteFunc(out.Relaxed[i].Pods, is)
	}
	out.Relaxed = slices.DeleteFunc(out.Relaxed, func(r plan.Relaxed) bool { return len(r.Pods) == 0 })
}
