package consolidate

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// judge makes a move of a component if it clears its hurdle and the budgets allow it.
func (s *search) judge(c *component, answer whatif.Answer) {
	if c.unplaced != nil {
		if len(c.nodes) == 1 {
			s.stay(c, Stay{Reason: s.unplaced(c.nodes[0], c.unplaced)})
		}
		return
	}
	before, after := priceOf(c.nodes), plan.PriceOf(c.launch)
	saving, h := before-after, s.hurdle(c)
	_, refused := s.Refuses(nodes(c.nodes))
	switch {
	case len(c.launch) > 0 && saving <= 0:
		s.stay(c, Stay{Reason: plan.Reason{Code: plan.NothingCheaper, Objects: nodeRef(c.nodes[0]), Want: dollars(after), Have: dollars(before)}})
	case saving < h.dollars:
		s.stay(c, Stay{Reason: h.reason(c.nodes[0], saving), Saving: saving, settled: len(c.launch) == 0 && h.field != fieldPayback})
	case refused:
		for _, n := range c.nodes {
			s.wait(n, saving/float64(len(c.nodes)))
		}
	default:
		s.take(c, Move{Launch: c.launch, Saving: saving, Spare: saving - h.dollars}, answer)
	}
}

// unplaced says why a pod has no place: no cheaper machine would hold it, nothing may be
// launched, or none takes it.
func (s *search) unplaced(c Candidate, pod *snapshot.Pod) plan.Reason {
	need := s.prefilter.need(pod.Class)
	if !slices.ContainsFunc(s.offers, func(w offer) bool { return w.price < c.Price && room(need, w.have, 1) > 0 }) {
		return plan.Reason{Code: plan.NothingCheaper, Objects: nodeRef(c), Want: dollars(c.Price), Have: dollars(c.Price)}
	}
	if reason, closed := s.Closed[c.Node.Pool()]; closed {
		return reason
	}
	return fitsNowhere(c, pod)
}

func nodeRef(c Candidate) []plan.ObjectRef {
	return []plan.ObjectRef{{Kind: "Node", Name: c.Node.Name}}
}
