package consolidate

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// remove finds machines whose pods fit on others. Pods go to machines that the
// prefilter would keep even if there were no budgets, so that they need not move
// again in the next pass.
func (s *search) remove() {
	chosen := slices.DeleteFunc(slices.Clone(s.Candidates), func(c Candidate) bool {
		return s.prefilter.at[c.Node.Name].busy || len(s.prefilter.remove(c.Node, false)) > 0
	})
	if len(chosen) == 0 {
		return
	}
	answer := s.World.Room(nodes(chosen))
	unplaced := answer.WithoutRoom()
	for _, c := range chosen {
		// Each is a move of its own: its pods have a place even if the others stay.
		if pod := unplaced[c.Node.Name]; pod == nil {
			s.judge(alone(c), answer)
		} else {
			s.stay(alone(c), Stay{Reason: s.fitsNowhere(c, pod), Saving: c.Price})
		}
	}
}

func nodes(list []Candidate) []*snapshot.Node {
	out := make([]*snapshot.Node, len(list))
	for i, c := range list {
		out[i] = c.Node
	}
	return out
}

// fitsNowhere says that a pod of a machine has no place, or room that is kept there.
func (s *search) fitsNowhere(c Candidate, pod *snapshot.Pod) plan.Reason {
	if whatif.Kept(pod) {
		return s.roomKept(c)
	}
	return plan.Reason{Code: plan.PodFitsNowhere, Objects: append([]plan.ObjectRef{plan.RefOf(pod)}, nodeRef(c)...)}
}
