package pack

import "slices"

const (
	// fewLeft is the share of all items, by what they are worth, below which the linear program
	// is not solved again.
	fewLeft = 0.1
	// Where boxes have no more shapes than that, so much of the prices follows from needs.
	fewShapes, evenly = 8, 0.5
)

// repriced is greedy, by price alone, with the linear program solved again for what is left
// whenever half of it has been packed. Of a group of which a box holds only so many, the
// members that come last have less to share their boxes with, and then a place for one of
// them costs more. What is not scarce altogether has no price, but is scarce for the last boxes
// where the first wasted it and shapes are few. It is nil where there are neither.
func (s *solver) repriced() []Box {
	again, shapes := *s, numbers{}
	for m := range s.p.Models {
		shapes.of(amounts(0, s.p.Models[m].Holds))
	}
	if again.fee = 0; len(shapes) <= fewShapes {
		again.even = evenly
	} else if s.measured == s.p.Dims {
		return nil
	}
	left, limits := slices.Clone(s.counts), slices.Clone(s.p.Limits)
	var out []Box
	few := fewLeft * s.worthOfAll()
	for half := s.worthOfAll() / 2; half > few; half = again.worthOfAll() / 2 {
		bought := again.downTo(half, left, limits)
		if len(bought) == 0 {
			return out
		}
		out = append(out, bought...)
		rest := *s.instance
		rest.counts = slices.Clone(left)
		again.relaxation = rest.relax()
	}
	return append(out, again.greedy(left, limits)...)
}
