package pack

// Column generation comes close quickly and then creeps. Where there are many
// bundles it is cut off, and the prices of the dimensions are tuned directly: the
// bound, sum over bundles of the least of need·v[m], is concave in the prices, and
// each model's prices move towards the dimensions of which it would have too
// little if every bundle went to where it is cheapest.

const (
	tuneSteps = 400
	// tuneSlow is how many steps may pass without progress.
	tuneSlow = 60
)

// tune raises the bound that the prices give for the bundles.
func (s *solver) tune(bundles []bundle, prices []float64) {
	dims := s.p.Dims
	best, since := 0.0, 0
	current := append([]float64(nil), prices...)
	load := make([]float64, len(prices))
	costs := make([]float64, len(s.p.Models))
	for step := range tuneSteps {
		progress := float64(step) / tuneSteps
		value := s.assign(bundles, current, load, costs, 0.03*(1-progress)+0.001)
		if value > best*(1+1e-5) {
			since = 0
		}
		if value > best {
			best = value
			copy(prices, current)
		}
		if since++; since > tuneSlow {
			return
		}
		for m := range s.p.Models {
			s.shift(m, current[m*dims:(m+1)*dims], load[m*dims:(m+1)*dims], 0.4*(1-progress)+0.01)
		}
	}
}

// assign sends each bundle to the models where it costs least, those within a
// share of the least included, and returns the sum of the least costs. load is
// what that takes of each model's dimensions, in boxes.
func (s *solver) assign(bundles []bundle, prices, load, costs []float64, within float64) float64 {
	dims := s.p.Dims
	clear(load)
	sum := 0.0
	for i := range bundles {
		b := &bundles[i]
		least := s.costs(b, prices, costs)
		sum += least
		total := 0.0
		limit := least * (1 + within)
		for _, m := range b.models {
			if costs[m] <= limit {
				total += limit - costs[m]
			}
		}
		if total == 0 {
			continue
		}
		for _, m := range b.models {
			if costs[m] > limit {
				continue
			}
			part := (limit - costs[m]) / total
			for d, c := range s.holdsOf(m) {
				if c > 0 {
					load[m*dims+d] += part * b.need[d] / float64(c)
				}
			}
		}
	}
	return sum
}

// costs fills in what a bundle costs on each of its models, and returns the least.
func (s *solver) costs(b *bundle, prices, costs []float64) float64 {
	dims := s.p.Dims
	least := -1.0
	for _, m := range b.models {
		sum := 0.0
		for d, n := range b.need {
			sum += n * prices[m*dims+d]
		}
		costs[m] = sum
		if least < 0 || sum < least {
			least = sum
		}
	}
	return least
}

// shift moves a model's prices towards its fullest dimensions, keeping what a box
// costs.
func (s *solver) shift(m int, prices, load []float64, rate float64) {
	most := 0.0
	for _, l := range load {
		most = max(most, l)
	}
	if most == 0 {
		return
	}
	full := 0.0
	holds := s.holdsOf(m)
	floor := s.p.Models[m].Price * 1e-6
	for d, l := range load {
		if holds[d] == 0 {
			continue
		}
		share := max(prices[d]*float64(holds[d]), floor)
		prices[d] = share * (1 + rate*(2*l/most-1)) / float64(holds[d])
		full += prices[d] * float64(holds[d])
	}
	if full > 0 {
		s.stretch(m, prices, full)
	}
}
