package placement

import (
	"github.com/millwright-dev/millwright/engine/placement/explain"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// leave notes the pods that have no place, which stay in their groups.
func (w *world) leave(out *plan.Plan) {
	for _, g := range w.Groups {
		for _, p := range g.Pods {
			out.Unplaced = append(out.Unplaced, plan.Unplaced{Pod: p})
		}
	}
}

// explain says for every pod that is left why no pool has a machine for it.
func (s *refined) explain() {
	x := explain.New(s.Supply)
	reasons := make(map[*snapshot.Pod][]plan.Reason, len(s.plan.Unplaced))
	for _, g := range s.Groups {
		for _, p := range g.Pods {
			reasons[p] = x.Reasons(g, p)
		}
	}
	for i := range s.plan.Unplaced {
		u := &s.plan.Unplaced[i]
		u.Reasons = reasons[u.Pod]
	}
}
