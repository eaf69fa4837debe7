package consolidate

import (
	"math"
	"slices"

	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// surplus is how many more machines than the budgets allow are put to placement,
// so that some may be refused.
const surplus = 3

// rounds bounds how often placement is asked about machines that are to go.
const rounds = 3

// remove finds machines whose pods fit on others. Pods go to machines that the
// prefilter would keep even if there were no budgets, so that they need not move
// again in the next pass.
func (s *search) remove() {
	chosen, later := s.sift()
	s.close(later)
	for range rounds {
		if len(chosen) == 0 || s.World.Asked >= s.left {
			break
		}
		answer := s.World.Put(whatif.Question{Gone: nodes(chosen), RoomOnly: true})
		unplaced := answer.WithoutRoom()
		kept := slices.DeleteFunc(slices.Clone(chosen), func(c Candidate) bool {
			pod, lacks := unplaced[c.Node.Name]
			if lacks {
				s.stay(alone(c), Stay{Reason: fitsNowhere(c, pod), Saving: c.Price})
			}
			return lacks
		})
		if len(kept) == len(chosen) {
			// Each is a move of its own: its pods have a place even if the others stay.
			for _, c := range kept {
				s.judge(alone(c), answer)
			}
			break
		}
		chosen = kept
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
