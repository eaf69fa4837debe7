package placement

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/arrange"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// refine plans with some preferences given up, all of them if waived is nil. Where
// that leaves pods that other pods keep out, it plans again with those first: in
// topology domains, then also on machines. The plan that leaves the fewest counts.
func (r *run) refine(waived demand.Waived) *settled {
	best := r.learn(waived, arrange.NewLessons())
	first := best.arranger.Hindered(best.keptOut())
	if len(first) == 0 {
		return best
	}
	for _, order := range []arrange.Order{{First: first}, {Ahead: first}} {
		if s := r.learn(waived, arrange.NewLessons(order)); len(s.plan.Unplaced) < len(best.plan.Unplaced) {
			return s
		}
	}
	return best
}

// learn makes plans until nothing more is learned from them.
func (r *run) learn(waived demand.Waived, lessons arrange.Lessons) *settled {
	for round := 0; ; round++ {
		w := newWorld(r.snap, r.opts, r.pods, waived)
		out := w.solve(lessons)
		if !w.arranger.Learn(out, w.bought, lessons, round) {
			return &settled{world: w, plan: out}
		}
	}
}

// keptOut are the groups that were left for no other reason than inter-pod rules.
func (s *settled) keptOut() []*demand.Group {
	var out []*demand.Group
	for _, g := range s.Groups {
		if pods := s.left[g]; len(pods) > 0 && s.onlyKeptOut(g, pods[0]) {
			out = append(out, g)
		}
	}
	return out
}

func (s *settled) onlyKeptOut(g *demand.Group, pod *snapshot.Pod) bool {
	sh := s.ShapeOf(pod)
	required := func(x demand.Role) bool { return s.Company.Wanted[x.Rule] }
	if !slices.ContainsFunc(sh.Roles, required) || slices.ContainsFunc(g.Shape.Refused, func(r plan.Reason) bool { return r.Code != plan.TopologyNotSatisfiable }) {
		return false
	}
	if slices.ContainsFunc(sh.Roles, func(x demand.Role) bool { return s.Company.Ledgers[x.Rule].OfClaim() }) {
		return false
	}
	return s.sells(sh, s.NeedOf(pod)) || s.fitsSome(sh, s.NeedOf(pod))
}

// fitsSome reports whether a machine that is there would take a pod if it were empty.
func (s *settled) fitsSome(sh *demand.Shape, need []int64) bool {
	for i := range s.Machines.Accepting(sh).All() {
		if s.large(s.Machines.List[i].Node, need) {
			return true
		}
	}
	return false
}
