package consolidate

import (
	"strconv"

	"github.com/millwright-dev/millwright/engine/disruption/churnlog"
	"github.com/millwright-dev/millwright/engine/plan"
)

// roomKept says that a machine's pods may have a place, but not with the room that is kept.
func (s *search) roomKept(c Candidate) plan.Reason {
	churn := s.Terms[c.Node.Pool()].Churn
	return plan.Reason{
		Code: plan.RoomKept, Objects: []plan.ObjectRef{plan.PoolRef(c.Node.Pool())},
		Have: strconv.Itoa(churn.Expected.Pods), Want: churnlog.Soon.String(), Hint: plan.PerHour(churn.Spent), Until: churn.Expected.Until,
	}
}

// tellKept says so of the candidates that could be removed, and would be worth it, if there was no
// such room.
func (s *search) tellKept() {
	free, keeps := s.World.WithoutKept()
	if !keeps {
		return
	}
	prefilter := newPrefilter(free, s.Candidates)
	for _, c := range s.Candidates {
		switch s.stays[c.Node.Name].Reason.Code {
		case "", plan.NothingCheaper, plan.PodFitsNowhere, plan.SavingTooSmall:
			if s.available(c) && c.Price >= s.hurdle(alone(c)).dollars && len(prefilter.remove(free.Machine(c.Node.Name), true)) == 0 {
				s.stays[c.Node.Name] = Stay{Reason: s.roomKept(c), Saving: c.Price}
			}
		}
	}
}
