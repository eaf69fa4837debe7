package pack

import "slices"

// offer is a model and the best box of it that is known.
type offer struct {
	model int
	// share is what the content is worth of the costs, round when that was found
	// out; -1 is never.
	share float64
	round int
	// potential is the most that the share can be, costs the price with the fee.
	potential, costs float64
	parts            []Part
}

// hope is by how much a share may have grown with each round since it was computed: less
// is left, but may fit better.
const hope = 0.01

// promise is an upper estimate of the share in a round, where what is left is worth so much.
func (o *offer) promise(round int, left float64) float64 {
	most := min(o.potential, left/o.costs)
	if o.round < 0 {
		return most
	}
	return min(most, o.share+hope*float64(round-o.round))
}

// greedy buys boxes, always the one whose content is worth most for its price,
// and takes the content from what is left of the items.
func (s *solver) greedy(left []int, limits []int64) []Box { return s.downTo(0, left, limits) }

// downTo is greedy until what is left is worth no more than that.
func (s *solver) downTo(worth float64, left []int, limits []int64) []Box {
	f := s.newFiller(left)
	g := &market{filler: f, offers: f.offers(), limits: limits}
	var out []Box
	for ; !f.done() && (worth == 0 || f.worth > worth); g.round++ {
		best := g.best()
		if best == nil {
			break
		}
		model := &s.p.Models[best.model]
		n := min(affords(limits, model, unlimited), repeats(left, best.parts))
		for range n {
			out = append(out, Box{Model: best.model, Parts: slices.Clone(best.parts)})
		}
		f.commit(best.parts, n)
		buy(limits, model, n)
	}
	return out
}

// costs is the price of a model with the fee.
func (s *solver) costs(model int) float64 { return s.p.Models[model].Price + s.fee }

// market is the offers that greedy chooses from, round by round.
type market struct {
	*filler
	offers []offer
	limits []int64
	round  int
}

// offers lists the models that some item accepts, the dearest first, which wins ties.
func (f *filler) offers() []offer {
	out := make([]offer, 0, len(f.s.p.Models))
	for _, m := range f.s.dearest {
		if slices.ContainsFunc(f.lanes, func(l lane) bool { return l.count > 0 && l.family.Models.Has(m) }) {
			price, costs := f.s.p.Models[m].Price, max(f.s.costs(m), tiny)
			out = append(out, offer{model: m, round: -1, potential: f.s.potential[m] * price / costs, costs: costs})
		}
	}
	return out
}

// same is the relative difference below which shares count as equal.
const same = 5e-4

// best finds the offer with the best share by lazy evaluation: only offers whose promise is
// the highest are looked at, and filled again if their content cannot be had any more. Offers
// that nothing fits are dropped.
func (g *market) best() *offer {
	left := g.worth + tiny // it has been summed up and taken from
	for {
		top, promise := -1, 0.0
		for i := range g.offers {
			if p := g.offers[i].promise(g.round, left); top < 0 || p > promise*(1+same) {
				top, promise = i, p
			}
		}
		if top < 0 {
			return nil
		}
		o := &g.offers[top]
		if affords(g.limits, &g.s.p.Models[o.model], 1) == 0 || o.round == g.round && len(o.parts) == 0 {
			g.offers = slices.Delete(g.offers, top, top+1)
			continue
		}
		if o.round == g.round {
			return o
		}
		if len(o.parts) == 0 || repeats(g.left, o.parts) == 0 {
			parts, worth := g.fill(o.model)
			o.parts, o.share = append(o.parts[:0], parts...), worth/o.costs
		}
		o.round = g.round
	}
}

// repeats is how often a content can be had from what is left.
func repeats(left []int, parts []Part) int {
	n := unlimited
	for _, p := range parts {
		n = min(n, left[p.Item]/p.Count)
	}
	return n
}
