package placement

import (
	"maps"
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
	// limits are the prices of what the limits of pools leave, by pool; nil is none.
	limits map[string]float64
}

// prefer looks for a plan that follows preferences and costs little more than the one
// that follows none. Where following all of them is too dear, they are taken up one
// after the other, the heaviest of each shape first: by all shapes, or else by those
// that it does not make too dear themselves.
func (r *run) prefer(none *world) *world {
	tried := []*world{none}
	following := func(preferences demand.Followed) *world {
		for _, known := range tried {
			if maps.Equal(known.followed, preferences) {
				return known
			}
		}
		next := r.refine(preferences)
		tried = append(tried, next)
		return next
	}
	before := none.prices(&none.plan)
	longest := slices.MaxFunc(none.asked, func(a, b *demand.Shape) int { return len(a.Preferences) - len(b.Preferences) }).Preferences
	all := demand.Followed{}
	for k := range longest {
		all = all.With(none.asked, k)
	}
	best := following(all)
	if r.affordable(none, best, before) {
		return best
	}
	best = none
	for k := range longest {
		next := following(best.followed.With(none.asked, k))
		if !r.affordable(none, next, before) {
			next = following(best.followed.With(r.cheap(none, next, before), k))
		}
		if r.affordable(none, next, before) {
			best = next
		}
	}
	return best
}

// affordable reports whether a plan that follows preferences places no fewer pods
// and costs at most so much more, in proportion to what the pods cost that have
// some.
func (r *run) affordable(none, with *world, before map[string]float64) bool {
	if len(with.plan.Unplaced) != len(none.plan.Unplaced) {
		return len(with.plan.Unplaced) < len(none.plan.Unplaced)
	}
	holders := 0.0
	for _, sh := range none.asked {
		if with.followed[sh.Key] != 0 {
			holders += before[sh.Key]
		}
	}
	const rounding = 1e-9
	return with.plan.PricePerHour() <= none.plan.PricePerHour()+r.opts.Preference*holders+rounding
}

// cheap are the shapes whose pods cost no more than they may.
func (r *run) cheap(none, with *world, before map[string]float64) []*demand.Shape {
	after := none.prices(&with.plan)
	return slices.DeleteFunc(slices.Clone(none.asked), func(sh *demand.Shape) bool {
		return after[sh.Key] > before[sh.Key]*(1+r.opts.Preference)
	})
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
		demand.Sort(w.Groups)
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
		demand.Sort(w.Groups)
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
