package placement

import (
	"cmp"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Solve decides where the pending pods of a snapshot go: on machines that exist,
// on machines that are on their way, on new ones, or nowhere and why.
//
// Every pending pod is in the plan exactly once. The same snapshot and options
// give the same plan, whatever order the objects came in.
func Solve(s *snapshot.Snapshot, opts Options) *plan.Plan {
	pods, ignored := pending(s)
	if len(pods) == 0 {
		return &plan.Plan{Ignored: ignored}
	}
	lessons := newLessons()
	for round := 0; ; round++ {
		w := newWorld(s, opts, pods)
		out := w.solve(lessons)
		if !w.learn(out, lessons, round) {
			out.Ignored = ignored
			out.Stats = plan.Stats{Pods: len(pods), Classes: w.classes}
			return out
		}
	}
}

func newWorld(s *snapshot.Snapshot, opts Options, pods []*snapshot.Pod) *world {
	w := &world{
		s: s, opts: opts.withDefaults(),
		made: map[*snapshot.Shape]*shape{}, same: map[string]*shape{}, needs: map[*snapshot.Class][]int64{},
		divided: map[string]int{},
	}
	w.gather(pods)
	w.classes = len(w.groups)
	w.machines = w.newMachines()
	w.market = w.newMarket()
	for _, sh := range w.shapes {
		sh.clashes = w.ports.Clashes(sh.ports)
	}
	w.observe()
	return w
}

func (w *world) solve(l lessons) *plan.Plan {
	out := &plan.Plan{}
	w.gatherCompany(l)
	w.usePlaces(out)
	for _, pools := range w.market.byWeight() {
		w.buy(pools, out)
	}
	w.explain(out)
	sortPlan(out)
	return out
}

// byWeight divides the pools that are open into those of equal weight, the
// heaviest first.
func (m *market) byWeight() [][]*pool {
	var out [][]*pool
	for _, p := range m.pools {
		if p.closed != nil || p.lo == p.hi {
			continue
		}
		if n := len(out); n > 0 && out[n-1][0].Weight == p.Weight {
			out[n-1] = append(out[n-1], p)
			continue
		}
		out = append(out, []*pool{p})
	}
	return out
}

// buy puts what it can of the remaining pods on new machines of the pools.
func (w *world) buy(pools []*pool, out *plan.Plan) {
	t := w.newTier(pools, w.groups)
	if len(t.groups) == 0 || len(t.problem.Models) == 0 {
		return
	}
	solution := pack.Solve(&t.problem, pack.Options{Work: w.opts.Work})
	boxes := t.admit(solution.Boxes)
	out.LowerBound += solution.Bound(boxes)
	out.NewNodes = append(out.NewNodes, t.nodes(boxes)...)
}

// sortPlan puts placements and what is unplaced in the order of the pods.
func sortPlan(out *plan.Plan) {
	slices.SortFunc(out.Placements, func(a, b plan.Placement) int { return comparePods(a.Pod, b.Pod) })
	slices.SortFunc(out.Unplaced, func(a, b plan.Unplaced) int { return comparePods(a.Pod, b.Pod) })
}

func comparePods(a, b *snapshot.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
