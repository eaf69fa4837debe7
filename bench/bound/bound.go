package bound

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/offer"
)

// Bound is a price that no plan for the pods can beat.
type Bound struct {
	// PerHour is in $/h.
	PerHour float64
	// Impossible counts the pods that fit no machine; they are left out.
	Impossible int
}

// Calculator bounds the price of any part of one problem's pods. It is not
// safe for concurrent use.
type Calculator struct {
	offers []*offer.Offer
	kinds  kinds
}

// New lists the problem's offers.
func New(p *bench.Problem) (*Calculator, error) {
	offers, err := offer.All(p)
	if err != nil {
		return nil, fmt.Errorf("listing offers: %w", err)
	}
	return &Calculator{offers: offers, kinds: kinds{number: map[string]int{}}}, nil
}

// Of bounds the price of the pods.
func (c *Calculator) Of(pods []*corev1.Pod) (Bound, error) {
	demands, space, err := c.demands(pods)
	if err != nil {
		return Bound{}, err
	}
	machines := c.machines(space)
	demands, impossible := possible(demands, machines)
	b := Bound{Impossible: impossible}
	for _, part := range parts(demands, machines) {
		left := undominated(slices.Clone(part.machines))
		divided := evaluate(part.demands, left, relax(shapes(part.demands), left))
		b.PerHour += max(divided, whole(part.demands, part.machines))
	}
	return b, nil
}

// tolerance is taken off every result for the rounding of its sums.
const tolerance = 1e-9

// evaluate is the second formula of the package's description.
func evaluate(demands []demand, machines []*machine, worths [][]float64) float64 {
	var sum float64
	for _, d := range demands {
		sum += least(d, machines, worths) * d.count
	}
	return sum * (1 - tolerance)
}

// least is what one pod's request is worth on the machine where that is least.
func least(d demand, machines []*machine, worths [][]float64) float64 {
	best := -1.0
	for t, m := range machines {
		if !m.takes(d) {
			continue
		}
		if v := dot(d.request, worths[t]); best < 0 || v < best {
			best = v
		}
	}
	return max(best, 0)
}

func dot(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
