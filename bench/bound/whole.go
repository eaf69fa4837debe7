package bound

import (
	"cmp"
	"math"
	"slices"
)

// What one machine may hold of whole pods is a pattern; there are too many of them to list
// but where the kinds of pods are few.
const (
	fewDemands = 32
	// wholeSteps bounds the work on a part, by how many contents are looked at.
	wholeSteps = 5_000_000
)

// whole bounds the price of demands in whole pods (Gilmore and Gomory): each is given a value,
// as much as possible in sum, such that no content of a machine is worth more than the
// machine. Where a content is worth more all values are too high by as much (Farley), so
// the result holds wherever the search for values ends. It is zero for many demands.
func whole(demands []demand, machines []*machine) float64 {
	const (
		rounds = 100
		near   = 1e-5 // of the value: good enough
	)
	if len(demands) > fewDemands {
		return 0
	}
	best := 0.0
	m := newMaster(demands, machines, func(d demand, m *machine) float64 { return float64(d.fits(m.room)) })
	s := stowage{demands: demands, steps: wholeSteps}
	for range rounds {
		values, _ := m.solve()
		total := dot(m.gain, values)
		worst, known := 1.0, len(m.fills)
		for _, machine := range machines {
			content, worth := s.richest(machine, values)
			worst = max(worst, worth/machine.cost)
			if content != nil {
				m.add(content, machine.cost)
			}
		}
		best = max(best, total/worst)
		if known == len(m.fills) || total-best <= near*total {
			break
		}
	}
	return best * (1 - tolerance)
}

// stowage looks for whole contents of machines by branch and bound.
type stowage struct {
	demands []demand
	steps   int
	values  []float64
	order   []int     // demands that are worth something here, the largest first
	prices  []float64 // of the room that is left, at which no pod is worth more than its request
	amounts []float64
	best    []float64
	most    float64
}

// richest is a content that is worth more than the machine, nil if none was found, and what
// no content is worth more than.
func (s *stowage) richest(m *machine, values []float64) (content []float64, worth float64) {
	s.values, s.order = make([]float64, len(s.demands)), s.order[:0]
	for k, d := range s.demands {
		if values[k] > 0 && m.takes(d) {
			s.values[k], s.order = values[k], append(s.order, k)
		}
	}
	_, s.prices = divide(s.demands, m, s.values)
	scale := 1.0 // for what the program left above its request
	for _, k := range s.order {
		scale = max(scale, s.values[k]/dot(s.demands[k].request, s.prices))
	}
	if math.IsInf(scale, 1) {
		return nil, scale
	}
	for r := range s.prices {
		s.prices[r] *= scale
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(s.values[b], s.values[a]) })
	s.amounts, s.best, s.most = make([]float64, len(s.demands)), nil, m.cost*(1+tolerance)
	s.stow(0, m.room, 0)
	if s.steps <= 0 {
		return s.best, max(dot(m.room, s.prices), s.most)
	}
	return s.best, s.most
}

// stow branches on how many pods of a demand are in the room that is left, beside what is
// worth so much.
func (s *stowage) stow(at int, room []float64, worth float64) {
	if worth > s.most {
		s.most, s.best = worth, slices.Clone(s.amounts)
	}
	if at == len(s.order) || worth+dot(room, s.prices)*(1+tolerance) <= s.most {
		return
	}
	k := s.order[at]
	d := s.demands[k]
	for n := d.fits(room); n >= 0 && s.steps > 0; n-- {
		s.steps--
		left := slices.Clone(room)
		for r, v := range d.request {
			left[r] = max(0, left[r]-float64(n)*v)
		}
		s.amounts[k] = float64(n)
		s.stow(at+1, left, worth+float64(n)*s.values[k])
	}
	s.amounts[k] = 0
}
