package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/arrange"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// settle makes a plan that gives up some preferences, all of them if waived is nil.
// Where it leaves pods that others keep out, it is made again with something done
// otherwise, as long as that leaves fewer.
func (r *run) settle(waived demand.Waived) *settled {
	best := r.attempt(waived, nil)
	var done []arrange.Change
	for tries := r.tries(); tries > 0; {
		better := false
		for _, c := range best.changes() {
			if tries--; tries < 0 {
				break
			}
			with := append(slices.Clip(done), c)
			if s := r.attempt(waived, with); len(s.plan.Unplaced) < len(best.plan.Unplaced) {
				best, done, better = s, with, true
				break
			}
		}
		if !better {
			break
		}
	}
	return best
}

// tries is how many plans may be made otherwise: fewer where each takes longer.
func (r *run) tries() int { return min(max(1, 4000/len(r.pods)), 24) }

// attempt makes plans until nothing more is learned from them, and plans once more
// for pods that mind who is near and were left though there are machines for them:
// domains are given out before machines are bought, and what does not come out gives
// up its place in the end. Now that the others are where they are there is nothing to
// reckon with.
func (r *run) attempt(waived demand.Waived, changes []arrange.Change) *settled {
	s := r.learn(waived, arrange.NewLessons(changes...))
	waiting := s.waiting()
	if len(waiting) == 0 || len(s.plan.Unplaced) == len(r.pods) || r.pass >= passes {
		return s
	}
	rest := &run{snap: carriedOut(r.snap, s.plan), opts: r.opts, pods: waiting, pass: r.pass + 1}
	next := rest.attempt(waived, nil)
	if len(next.plan.Unplaced) == len(waiting) {
		return s
	}
	if both := s.without(waiting, next.plan, r.snap); s.balanced(r, both) {
		s.plan, s.rest = both, next
		s.bought = slices.Concat(s.bought, next.bought)
		s.forget()
	}
	return s
}

// passes is how often what is left is planned for once more.
const passes = 3

// learn makes plans until nothing more is learned from them.
func (r *run) learn(waived demand.Waived, lessons arrange.Lessons) *settled {
	for round := 0; ; round++ {
		w := newWorld(r.snap, r.opts, r.pods, waived)
		out := w.solve(lessons)
		if !w.arranger.Learn(out, w.bought, lessons, round) {
			s := &settled{world: w, plan: out}
			if r.pass == 0 {
				s.again()
			}
			return s
		}
	}
}

// changes are what may be done otherwise for those that are left.
func (s *settled) changes() []arrange.Change {
	var left []*demand.Group
	for _, g := range s.Groups {
		if pods := s.left[g]; len(pods) > 0 && s.keptOut(g, pods[0]) {
			left = append(left, g)
		}
	}
	return s.arranger.Changes(left)
}

// waiting are the pods that are left for no other reason than who is where, and of
// which that is certain once the plan has come true.
func (s *settled) waiting() []*snapshot.Pod {
	var out []*snapshot.Pod
	for _, g := range s.Groups {
		if pods := s.left[g]; len(pods) > 0 && s.keptOut(g, pods[0]) && s.certain(s.ShapeOf(pods[0])) {
			out = append(out, pods...)
		}
	}
	slices.SortFunc(out, snapshot.ComparePods)
	return out
}

// keptOut reports whether a group was left for no other reason than who is where.
func (s *settled) keptOut(g *demand.Group, pod *snapshot.Pod) bool {
	sh := s.ShapeOf(pod)
	minds := func(x demand.Role) bool { return s.Company.Wanted[x.Rule] }
	if !slices.ContainsFunc(sh.Roles, minds) || slices.ContainsFunc(g.Shape.Refused, func(r plan.Reason) bool { return r.Code != plan.TopologyNotSatisfiable }) {
		return false
	}
	if slices.ContainsFunc(sh.Roles, func(x demand.Role) bool { return s.Company.Ledgers[x.Rule].OfClaim() }) {
		return false
	}
	return s.sells(sh, s.NeedOf(pod)) || s.fitsSome(sh, s.NeedOf(pod))
}

// certain reports whether it is known of machines that are only planned whether the
// spreads of a shape count them: a spread counts the nodes that its pod accepts, and of
// those their zone and pool are certain at most.
func (s *settled) certain(sh *demand.Shape) bool {
	vague := func(r requirement.Requirement) bool {
		return r.Key() != corev1.LabelTopologyZone && r.Key() != snapshot.PoolLabel
	}
	return !slices.ContainsFunc(sh.Roles, func(x demand.Role) bool {
		l := s.Company.Ledgers[x.Rule]
		return x.Owns && l.Kind == topology.Spread && !l.IgnoreAffinity &&
			slices.ContainsFunc(sh.Terms, func(t requirement.Set) bool { return slices.ContainsFunc(t, vague) })
	})
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

// without is the plan with another one for some of the pods that it leaves.
func (s *settled) without(left []*snapshot.Pod, next *plan.Plan, before *snapshot.Snapshot) *plan.Plan {
	gone := map[*snapshot.Pod]bool{}
	for _, p := range left {
		gone[p] = true
	}
	first := *s.plan
	first.NewNodes = slices.Clone(first.NewNodes)
	first.Unplaced = slices.DeleteFunc(slices.Clone(first.Unplaced), func(u plan.Unplaced) bool { return gone[u.Pod] })
	for i := range first.NewNodes {
		first.NewNodes[i].Pods = slices.Clip(first.NewNodes[i].Pods)
	}
	return join(&first, next, before)
}

// forget takes those that have a place now out of those that are left.
func (s *settled) forget() {
	left := map[*snapshot.Pod]bool{}
	for _, u := range s.plan.Unplaced {
		left[u.Pod] = true
	}
	for g, pods := range s.left {
		if s.left[g] = slices.DeleteFunc(slices.Clone(pods), func(p *snapshot.Pod) bool { return !left[p] }); len(s.left[g]) == 0 {
			delete(s.left, g)
		}
	}
}

// balanced reports whether spreads hold when a plan has come true.
func (s *settled) balanced(r *run, p *plan.Plan) bool {
	for _, sh := range s.Shapes {
		if len(sh.Refused) == 0 && !s.certain(sh) {
			return false
		}
	}
	return newWorld(carriedOut(r.snap, p), r.opts, r.pods, nil).arranger.Balanced()
}
