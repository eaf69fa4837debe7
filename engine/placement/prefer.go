package placement

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// run is one call of Solve.
type run struct {
	snap *snapshot.Snapshot
	opts Options
	pods []*snapshot.Pod
}

// refined is a plan, and the world that it was made in.
type refined struct {
	*world
	plan *plan.Plan
}

// prefer looks for a plan that follows preferences and costs little more than the
// one that follows none. Where following all of them is too dear, those pods that
// became too dear themselves give up their lightest, until the plan is cheap
// enough.
func (r *run) prefer(none *refined) *refined {
	before := none.prices(none.plan)
	relaxed := demand.Relaxed{}
	for round := 0; ; round++ {
		with := r.refine(relaxed)
		if r.affordable(none, with, before, relaxed) {
			return r.restore(none, with, before)
		}
		after := none.prices(with.plan)
		giving := none.tooDear(before, after, relaxed, r.opts.Preference)
		if !none.relaxLightest(giving, relaxed, round >= relaxAllAfter) {
			with = none
			with.relaxed = relaxed
			return r.restore(none, with, before)
		}
	}
}

// restore takes preferences up again, the heaviest first, of pods that gave up
// several: it may have been only one of them that was dear.
func (r *run) restore(none, with *refined, before map[string]float64) *refined {
	for k := 0; ; k++ {
		trial, more := with.relaxed.Without(none.asked, k)
		if !more {
			return with
		}
		if trial == nil {
			continue
		}
		if next := r.refine(trial); r.affordable(none, next, before, trial) {
			with = next
		}
	}
}

// relaxAllAfter is after how many plans pods give up all that they prefer at once.
const relaxAllAfter = 3

// affordable reports whether a plan that follows preferences places no fewer pods
// and costs at most so much more, in proportion to what the pods cost that have
// some.
func (r *run) affordable(none, with *refined, before map[string]float64, relaxed demand.Relaxed) bool {
	if len(with.plan.Unplaced) != len(none.plan.Unplaced) {
		return len(with.plan.Unplaced) < len(none.plan.Unplaced)
	}
	holders := 0.0
	for _, sh := range none.asked {
		if sh.Follows(relaxed) {
			holders += before[sh.Key]
		}
	}
	const rounding = 1e-9
	return with.plan.PricePerHour() <= none.plan.PricePerHour()+r.opts.Preference*holders+rounding
}

// prices are what the pods of each shape that prefers something cost on new
// machines, in $/h: of a machine's price, each pod's part is by its share of the
// resource of which it takes most.
func (w *world) prices(p *plan.Plan) map[string]float64 {
	out := map[string]float64{}
	for i := range p.NewNodes {
		n := &p.NewNodes[i]
		holds := w.Dims.Have(n.Choice.Type.Allocatable())
		sum := 0.0
		of := map[*demand.Shape]float64{}
		for _, pod := range n.Pods {
			share := 0.0
			for d, need := range w.Dims.Need(pod.Class.Requests) {
				if need > 0 && holds[d] > 0 {
					share = max(share, float64(need)/float64(holds[d]))
				}
			}
			sum += share
			if sh := w.ShapeOf(pod); len(sh.Preferences) > 0 {
				of[sh] += share
			}
		}
		for sh, share := range of {
			out[sh.Key] += n.Choice.Offering.Price * share / max(sum, 1e-9)
		}
	}
	return out
}

// tooDear are the shapes that should give something up: those whose pods cost more
// than they may, or all if it is others that do.
func (w *world) tooDear(before, after map[string]float64, relaxed demand.Relaxed, allowance float64) []*demand.Shape {
	var following, dear []*demand.Shape
	for _, sh := range w.asked {
		if !sh.Follows(relaxed) {
			continue
		}
		following = append(following, sh)
		if after[sh.Key] > before[sh.Key]*(1+allowance) {
			dear = append(dear, sh)
		}
	}
	if len(dear) == 0 {
		return following
	}
	return dear
}

// relaxLightest waives the lightest preference of each shape, or all, and reports whether
// some shape still has one.
func (w *world) relaxLightest(shapes []*demand.Shape, relaxed demand.Relaxed, all bool) bool {
	for _, sh := range shapes {
		sh.Relax(relaxed, all)
	}
	return slices.ContainsFunc(w.asked, func(sh *demand.Shape) bool { return sh.Follows(relaxed) })
}

// follow binds the pods that are left to what they prefer, as far as it can be
// chosen, and returns their shapes as they were.
func (w *world) follow() map[*demand.Group]*demand.Shape {
	was := map[*demand.Group]*demand.Shape{}
	for _, g := range w.Groups {
		if len(g.Pods) > 0 && len(g.Shape.Preferences) > 0 && len(g.Shape.Refused) == 0 {
			was[g] = g.Shape
			g.Shape = w.bound(g)
		}
	}
	if len(was) > 0 {
		w.Order()
	}
	return was
}

// unfollow gives the groups of which pods are left their shapes back, and reports
// whether there are any.
func (w *world) unfollow(was map[*demand.Group]*demand.Shape) bool {
	left := false
	for g, sh := range was {
		if len(g.Pods) > 0 {
			left, g.Shape = true, sh
		}
	}
	if left {
		w.Order()
	}
	return left
}

// bound is the shape of a group with its preferences as if they were required,
// but for those that nothing could satisfy beside heavier ones.
func (w *world) bound(g *demand.Group) *demand.Shape {
	sh := g.Shape
	for i := range sh.Preferences {
		p := &sh.Preferences[i]
		next := sh.Requiring(p, w.PodTopology)
		if next != nil && w.Offerings.Sells(next.Node, g.Need) {
			sh = next
		}
	}
	return w.Intern(sh)
}
