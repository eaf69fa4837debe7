package pack

// downsize finds the cheapest model for a box's content.
func (in *instance) downsize(b *Box, limits []int64) {
	if m := in.cheapest(b, in.p.Models[b.Model].Price, limits); m >= 0 {
		buy(limits, &in.p.Models[b.Model], -1)
		buy(limits, &in.p.Models[m], 1)
		b.Model = m
	}
}

// cheapest is the cheapest model below a price that holds the content of a box, and of which
// the limits allow one more; -1 if there is none.
func (in *instance) cheapest(b *Box, below float64, limits []int64) int {
	best, need := -1, make([]int64, in.p.Dims)
	for _, part := range b.Parts {
		for d, n := range in.need(int32(part.Item)) {
			need[d] += n * int64(part.Count)
		}
	}
	for m := range in.p.Models {
		model := &in.p.Models[m]
		if model.Price < below && fits(need, model.Holds) && in.contains(b, m) && affords(limits, model, 1) > 0 {
			best, below = m, model.Price
		}
	}
	return best
}

// contains reports whether a model can take the content of a box.
func (in *instance) contains(b *Box, model int) bool {
	var l Load
	l.Reset(&in.p.Models[model])
	for _, part := range b.Parts {
		f := &in.p.Families[in.p.Items[part.Item].Family]
		if !f.Models.Has(model) || l.Room(f, in.need(int32(part.Item)), part.Count) < part.Count {
			return false
		}
		state, ok := l.variant(f, model, in.p.Cells)
		if !ok {
			return false
		}
		l.Open.And(state)
		l.Add(f, in.need(int32(part.Item)), part.Count)
	}
	return in.p.Guard == nil || in.p.Guard(&Box{Model: model, Parts: b.Parts})
}

// load makes the load of a box.
func (in *instance) load(l *Load, b *Box) {
	l.Reset(&in.p.Models[b.Model])
	for _, part := range b.Parts {
		l.Add(in.familyOf(int32(part.Item)), in.need(int32(part.Item)), part.Count)
	}
}
