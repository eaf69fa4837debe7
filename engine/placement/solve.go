package placement

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/explain"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/pending"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/placement/topology/assign"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Solve decides where the pending pods of a snapshot go: on machines that exist,
// on machines that are on their way, on new ones, or nowhere and why.
//
// Every pending pod is in the plan exactly once, and pods that controllers are about to
// create are planned with them, apart. Room for buffers is planned after them. The same snapshot and options
// give the same plan, whatever order the objects came in.
func Solve(s *snapshot.Snapshot, opts Options) *plan.Plan {
	if opts.Ledger == nil {
		opts.Ledger = limit.New(s)
	}
	s = bounded(s, opts)
	pods, ignored := pending.Select(s)
	// Chunks of buffers come after all pods, which therefore never count on them: kube-scheduler
	// does not know of them. These are to be kept elsewhere than on the machines that have them.
	moved, pods := partition(pods, func(p *snapshot.Pod) bool { return p.Buffer != nil })
	out, r := &plan.Plan{}, &run{snap: s, opts: opts.withDefaults(), pods: pods}
	if len(pods) > 0 {
		copies := expected(s, pods)
		out = r.inAnyOrder(r.expecting(copies), copies)
	}
	if chunks := snapshot.Chunks(s.Buffers); len(moved)+len(chunks) > 0 {
		out = r.after(out, slices.Concat(moved, chunks))
		setApart(out, chunks)
	}
	out.Ignored, out.Stats.Pods = ignored, len(pods)+len(moved)
	return out
}

// best is the plan for all pods together, without regard to priorities.
func (r *run) best() *world {
	none := r.scarce(r.refine(nil))
	if r.opts.IgnorePreferences {
		none.asked = nil
	}
	if len(none.asked) == 0 {
		return none
	}
	return r.prefer(none)
}

// finish adds to a plan what there is to say about it.
func (w *world) finish() *plan.Plan {
	if !w.opts.Unexplained {
		w.leave(explain.New(w.Supply).Reasons)
	}
	w.plan.Relaxed = w.notKept(w.asked)
	w.plan.Stats.Classes = w.classes
	return &w.plan
}

// leave notes the pods that have no place, which stay in their groups, and why.
func (w *world) leave(why func(*demand.Group, *snapshot.Pod) []plan.Reason) {
	w.plan.Unplaced = nil
	for _, g := range w.Groups {
		for _, p := range g.Pods {
			w.plan.Unplaced = append(w.plan.Unplaced, plan.Unplaced{Pod: p, Reasons: why(g, p)})
		}
	}
	sortPlan(&w.plan)
}

// world is one round of Solve, and its plan.
type world struct {
	*supply.Supply
	plan     plan.Plan
	assigner *assign.Assigner
	cuts     *assign.Cuts
	opts     Options
	// classes is the number of groups before they are divided over domains.
	classes int
	// asked are the shapes that prefer something, followed what is followed of that.
	asked    []*demand.Shape
	followed demand.Followed
	// chosen are the launches of the new machines, in their order.
	chosen []int
	// limits are the prices of what the limits of pools leave, see scarce.go.
	limits map[string]float64
}

func newWorld(s *snapshot.Snapshot, opts Options, pods []*snapshot.Pod, followed demand.Followed, cuts *assign.Cuts) *world {
	b := demand.New(s, pods)
	classes := len(b.Groups)
	asked := b.Prefer(followed)
	stock := supply.New(b, opts.Cache, opts.Ledger)
	stock.Offerings.Lenient, stock.Offerings.MinTypes = opts.RelaxMinValues, opts.MinTypes
	if opts.only != nil {
		stock.Offerings.Keep(opts.only)
	}
	return &world{Supply: stock, assigner: assign.New(stock, opts.Preference, cuts), cuts: cuts, opts: opts, classes: classes, asked: asked, followed: followed}
}

func (w *world) solve() {
	w.assigner.Assign()
	w.useExisting()
	was := w.follow()
	w.launchAll()
	if w.unfollow(was) {
		w.Offerings.Commit(w.opts.Ledger.With(w.plan.NewNodes))
		w.launchAll()
	}
	w.leave(func(*demand.Group, *snapshot.Pod) []plan.Reason { return nil })
}

func (w *world) launchAll() {
	for _, pools := range w.Offerings.ByWeight() {
		w.launch(pools)
	}
}

// launch puts what it can of the remaining pods on new machines of the pools. What limits leave
// too few alternatives for is tried again once the machines that have theirs are paid for.
func (w *world) launch(pools []*supply.Pool) {
	bound := 0.0
	for again := true; again; {
		t := w.newPacking(pools, w.Groups, nil)
		if len(t.groups) == 0 || len(t.problem.Models) == 0 {
			break
		}
		t.priceLimits(w.limits)
		solution := pack.Solve(&t.problem)
		boxes := t.admit(solution.Boxes)
		again = 0 < len(boxes) && len(boxes) < len(solution.Boxes)
		bound = max(bound, t.bound(solution, boxes))
		w.plan.NewNodes = append(w.plan.NewNodes, t.nodes(boxes)...)
		w.Offerings.Exhaust()
		if again {
			w.Offerings.Commit(w.opts.Ledger.With(w.plan.NewNodes))
		}
	}
	w.plan.LowerBound += bound
}

// bound is a price that no machines with the content of boxes go below. Pods that could be
// divided among units in another way are reckoned with one by one.
func (t *packing) bound(solution *pack.Solution, boxes []pack.Box) float64 {
	if len(t.w.limits) == 0 && !slices.ContainsFunc(t.groups, func(g *demand.Group) bool { return len(g.Members) > 0 }) {
		return solution.Bound(boxes)
	}
	units := make([]int, len(t.groups))
	for i := range boxes {
		for _, part := range boxes[i].Parts {
			units[part.Item] += part.Count
		}
	}
	var groups []*demand.Group
	for i, g := range t.groups {
		groups = append(groups, g.Apart(units[i])...)
	}
	demand.Sort(groups)
	return pack.Bound(&t.w.newPacking(t.pools, groups, t.offered).problem)
}

// sortPlan puts placements and what is unplaced in the order of the pods.
func sortPlan(out *plan.Plan) {
	slices.SortFunc(out.Placements, func(a, b plan.Placement) int { return snapshot.ComparePods(a.Pod, b.Pod) })
	slices.SortFunc(out.Unplaced, func(a, b plan.Unplaced) int { return snapshot.ComparePods(a.Pod, b.Pod) })
}
