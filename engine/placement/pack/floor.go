package pack

import "slices"

// floor bounds from below what any set of boxes for some of the items costs. It
// is the greatest of what the linear program says and of what follows from boxes
// not being divisible.
type floor struct {
	s *relaxation
	// single is the price of the cheapest box that holds one of an item.
	single []float64
	// contents are what items are worth by whole contents, nil if that is not known.
	contents []float64
}

func newFloor(s *relaxation) *floor {
	f := &floor{s: s, single: make([]float64, len(s.p.Items))}
	for i := range f.single {
		models := s.familyOf(int32(i)).bounding()
		for _, m := range slices.Backward(s.dearest) {
			if models.Has(m) && s.holds(m, int32(i)) {
				f.single[i] = s.p.Models[m].Price
				break
			}
		}
	}
	return f
}

// price is the bound in the prices of the problem that the instance was made of.
func (f *floor) price(counts []int) float64 { return f.of(counts) * f.s.unit * (1 - rounding) }

// of is the bound for so many of each item.
func (f *floor) of(counts []int) float64 {
	var divided, whole, filled float64
	exclusive := map[group]float64{}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		divided += f.s.worth[i] * float64(n)
		whole = max(whole, f.single[i])
		if f.contents != nil {
			filled += f.contents[i] * float64(n)
		}
		// Every box with members of a group costs at least what the cheapest box for
		// any of them does, and has at most the cap's number of them.
		for g, share := range f.s.familyOf(int32(i)).groups() {
			exclusive[g] += f.single[i] * float64(n) * share.ofBox()
			whole = max(whole, exclusive[g])
		}
	}
	return max(divided, whole, filled) * (1 - tiny)
}
