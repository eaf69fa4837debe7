package pack

import "slices"

// stepsToBound bounds the search for the content of a model that is worth most.
const stepsToBound = 20_000

// contents are what items add at least to the price of any set of boxes with no more of
// each than were packed, by whole contents (Gilmore and Gomory): the dual values of the
// master program, without fees, lowered until no content is worth more than its model
// (Farley). So they hold wherever the program stopped. They are nil where the kinds of
// things are many or have rules, and where the bound of the program is good enough.
func (s *solver) contents(boxes []Box) []float64 {
	p := s.patterns(boxes, fewKinds)
	if p == nil || !s.wasteful(boxes) {
		return nil
	}
	s.fee = 0
	p.begin()
	if slices.ContainsFunc(p.items, func(i int32) bool { return !s.familyOf(i).Plain() || s.familyOf(i).Loose != nil }) {
		return nil
	}
	p.relax()
	most := 1.0
	for _, m := range p.models {
		most = max(most, p.most(m)/max(s.costs(m), tiny))
	}
	out := make([]float64, len(s.counts))
	for r, i := range p.items {
		if v := p.master.Dual[r]; v > tiny {
			out[i] = v / most
		}
	}
	return out
}

// most is what no content of a model is worth more than, at least the price.
func (p *patterns) most(model int) float64 {
	q := &p.search
	p.start(model)
	q.most = p.s.costs(model)
	divided := p.divided(model)
	if divided <= q.most {
		return q.most
	}
	q.left, q.more = stepsToBound, 0
	if p.descend(0, 0, 0); q.left > 0 {
		return q.most
	}
	return divided
}
