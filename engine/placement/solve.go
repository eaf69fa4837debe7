package placement

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/arrange"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/pending"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Solve decides where the pending pods of a snapshot go: on machines that exist,
// on machines that are on their way, on new ones, or nowhere and why.
//
// Every pending pod is in the plan exactly once. The same snapshot and options
// give the same plan, whatever order the objects came in.
func Solve(s *snapshot.Snapshot, opts Options) *plan.Plan {
	pods, ignored := pending.Select(s)
	if len(pods) == 0 {
		return &plan.Plan{Ignored: ignored}
	}
	lessons := arrange.NewLessons()
	for round := 0; ; round++ {
		w := newWorld(s, opts.withDefaults(), pods)
		out := w.solve(lessons)
		if !w.arranger.Learn(out, w.bought, lessons, round) {
			out.Ignored = ignored
			out.Stats = plan.Stats{Pods: len(pods), Classes: w.classes}
			return out
		}
	}
}

// world is one round of Solve.
type world struct {
	*supply.Supply
	arranger *arrange.Arranger
	opts     Options
	// classes is the number of groups before they are divided over domains.
	classes int
	// bought are the launches of the new machines, in their order.
	bought []int
}

func newWorld(s *snapshot.Snapshot, opts Options, pods []*snapshot.Pod) *world {
	b := demand.New(s, pods)
	classes := len(b.Groups)
	stock := supply.New(b)
	return &world{Supply: stock, arranger: arrange.New(stock), opts: opts, classes: classes}
}

func (w *world) solve(l arrange.Lessons) *plan.Plan {
	out := &plan.Plan{}
	w.arranger.Arrange(l)
	w.usePlaces(out)
	for _, pools := range w.Market.ByWeight() {
		w.buy(pools, out)
	}
	w.explain(out)
	sortPlan(out)
	return out
}

// buy puts what it can of the remaining pods on new machines of the pools.
func (w *world) buy(pools []*supply.Pool, out *plan.Plan) {
	t := w.newTier(pools, w.Groups)
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
	slices.SortFunc(out.Placements, func(a, b plan.Placement) int { return demand.ComparePods(a.Pod, b.Pod) })
	slices.SortFunc(out.Unplaced, func(a, b plan.Unplaced) int { return demand.ComparePods(a.Pod, b.Pod) })
}
