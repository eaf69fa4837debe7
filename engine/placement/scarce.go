package placement

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
)

// scarcity is the price of what the limits of a pool leave, in multiples of what machines that use
// it up cost in a plan in which it is free.
const scarcity = 64

// scarce is a plan in which what limits leave has a price, where that places more pods than if it
// is free. The cheapest machine for a pod of 1 CPU and 700Mi, say, has two vCPUs and no room for
// another; of a limit of eight vCPUs one larger machine makes more.
func (r *run) scarce(free *world) *world {
	room := free.roomInLimits()
	if len(room) == 0 || !slices.ContainsFunc(free.Groups, free.limited) {
		return free
	}
	r.limits = map[string]float64{}
	for pool, price := range room {
		r.limits[pool] = scarcity * price
	}
	if priced := r.refine(nil); len(priced.plan.Unplaced) < len(free.plan.Unplaced) {
		return priced
	}
	r.limits = nil
	return free
}

// roomInLimits is what machines as those of the plan cost that use up what the limits of their pool
// left before, by pool.
func (w *world) roomInLimits() map[string]float64 {
	out := map[string]float64{}
	for _, p := range w.Offerings.Pools {
		planned, price := make([]int64, len(p.Limits)), 0.0
		for _, i := range w.chosen {
			if l := &w.Offerings.Launches[i]; w.Offerings.Pools[l.Pool] == p {
				price += l.Offering.Price
				for d, n := range w.Offerings.Kinds[l.Kind].Size {
					planned[d] += n
				}
			}
		}
		if share := p.Share(planned, planned); share > 0 {
			out[p.Name] = price / share
		}
	}
	return out
}

// limited reports whether a machine that a pool's limits do not allow has room for pods of a group
// that have none.
func (w *world) limited(g *demand.Group) bool {
	if len(g.Pods) == 0 {
		return false
	}
	open := w.Offerings.Accepting(g.Shape.Node).Clone()
	open.And(w.Offerings.Available)
	open.AndNot(w.Offerings.Affordable(open))
	return w.Offerings.TakesOnSome(open, g.Need)
}

// priceLimits adds the prices of limits to those of the models.
func (t *packing) priceLimits(price map[string]float64) {
	for m, i := range t.launch {
		l := &t.w.Offerings.Launches[i]
		if p := t.w.Offerings.Pools[l.Pool]; price[p.Name] > 0 {
			t.problem.Models[m].Price += price[p.Name] * p.Share(t.w.Offerings.Kinds[l.Kind].Size, make([]int64, len(p.Limits)))
		}
	}
}
