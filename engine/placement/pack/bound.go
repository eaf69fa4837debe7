package pack

// appraise computes what each item adds at least to the price of any set of
// boxes.
//
// Let v[m] be prices of a model's dimensions such that a full box costs no more
// than the model: holds·v <= price. Then an item is worth min over its models of
// need·v[m], and no set of boxes that hold the items is cheaper than the sum of
// their worths. Here all of a model's price is put on one dimension.
func (s *solver) appraise(left []int) {
	s.worth = make([]float64, len(s.p.Items))
	s.floor = make([]float64, len(s.p.Items))
	s.priced = make([]float64, len(s.p.Models)*s.p.Dims)
	best := 0.0
	for d := range s.p.Dims {
		total := 0.0
		floor := make([]float64, len(s.p.Items))
		for i := range s.p.Items {
			floor[i] = s.cheapest(int32(i), d)
			s.worth[i] = max(s.worth[i], floor[i])
			total += floor[i] * float64(left[i])
		}
		if total >= best {
			best, s.floor = total, floor
		}
	}
}

// cheapest is the least share of a model's price that an item takes by one
// dimension.
func (s *solver) cheapest(item int32, d int) float64 {
	best, found := 0.0, false
	models := s.p.Families[s.p.Items[item].Family].Models
	for m := range s.p.Models {
		model := &s.p.Models[m]
		if !models.Has(m) || !s.holds(m, item) || model.Holds[d] == 0 {
			continue
		}
		if v := float64(s.need(item)[d]) / float64(model.Holds[d]) * model.Price; !found || v < best {
			best, found = v, true
		}
	}
	return best
}

// boundOf is the bound for the items that are not left.
func (s *solver) boundOf(left []int) float64 {
	sum := 0.0
	for i, w := range s.floor {
		sum += w * float64(s.p.Items[i].Count-left[i])
	}
	return sum
}
