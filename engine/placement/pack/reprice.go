package pack

import "slices"

// fewLeft is the share of all items, by what they are worth, below which the linear program
// is not solved again.
const fewLeft = 0.1

// repriced is greedy, by price alone, with the linear program solved again for what is left
// whenever half of it has been packed. Of a group of which a box holds only so many, the
// members that come last have less to share their boxes with, and then a place for one of
// them costs more. It is nil where there are no such groups.
func (s *solver) repriced() []Box {
	if s.measured == s.p.Dims {
		return nil
	}
	left, limits := slices.Clone(s.counts), slices.Clone(s.p.Limits)
	first, fee := s.relaxation, s.fee
	defer func() { s.relaxation, s.fee = first, fee }()
	s.fee = 0
	var out []Box
	few := fewLeft * first.worthOfAll()
	for half := first.worthOfAll() / 2; half > few; half = s.worthOfAll() / 2 {
		bought := s.downTo(half, left, limits)
		if len(bought) == 0 {
			return out
		}
		out = append(out, bought...)
		rest := *first.instance
		rest.counts = slices.Clone(left)
		s.relaxation = rest.relax()
	}
	return append(out, s.greedy(left, limits)...)
}
