package consolidate

import (
	"math"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// surplus is how many more machines than the budgets allow are put to placement,
// so that some may be refused.
const surplus = 3

// remove finds machines whose pods fit on others. Pods go to machines that the
// prefilter would keep even if there were no budgets, so that they need not move
// again in the next pass.
func (s *search) remove() {
	chosen, later := s.sift()
	s.close(later)
	if len(chosen) > 0 {
		answer := s.World.Room(nodes(chosen))
		unplaced := answer.WithoutRoom()
		for _, c := range chosen {
			// Each is a move of its own: its pods have a place even if the others stay.
			if pod := unplaced[c.Node.Name]; pod == nil {
				s.judge(alone(c), answer)
			} else {
				s.stay(alone(c), Stay{Reason: fitsNowhere(c, pod), Saving: c.Price})
			}
		}
	}
	for _, c := range later {
		s.wait(c, c.Price)
	}
}

// sift lets the prefilter choose: first some more than the budgets allow, then all
// that could go later.
func (s *search) sift() (chosen, later []Candidate) {
	more := map[string]int{}
	for scope, left := range s.Remaining {
		more[scope] = min(left, math.MaxInt32/surplus) * surplus
	}
	for _, c := range s.Candidates {
		if s.prefilter.at[c.Node.Name].busy || len(s.prefilter.remove(c.Node, false)) > 0 {
			continue
		}
		if scope := c.Uses[0].Scope; more[scope] > 0 {
			more[scope]--
			chosen = append(chosen, c)
		} else {
			later = append(later, c)
		}
	}
	return chosen, later
}

func nodes(list []Candidate) []*snapshot.Node {
	out := make([]*snapshot.Node, len(list))
	for i, c := range list {
		out[i] = c.Node
	}
	return out
}

func fitsNowhere(c Candidate, pod *snapshot.Pod) plan.Reason {
	return plan.Reason{Code: plan.PodFitsNowhere, Objects: append([]plan.ObjectRef{plan.RefOf(pod)}, nodeRef(c)...)}
}

func dollars(price float64) string { return plan.Dollars(price) + "/h" }
