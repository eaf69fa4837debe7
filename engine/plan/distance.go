package plan

import (
	"cmp"
	"math"
)

// Farther is positive if the pool of a reason is farther from taking the pod than another's,
// negative if it is nearer.
func (r Reason) Farther(o Reason) int {
	changes, foreign := r.distance()
	others, stranger := o.distance()
	return cmp.Or(cmp.Compare(changes, others), cmp.Compare(foreign, stranger))
}

// distance is how far the pool of a reason is from taking the pod: how many things would
// have to change, none where the cloud only has to sell again, and how much these say that
// the pool is meant for other pods. A pool that is not ready, or has reached its limit, is
// nearer than one with a taint or a fixed number of machines, and that nearer than one without
// the labels that the pod asks for.
func (r Reason) distance() (changes, foreign int) {
	switch {
	case r.Code == OfferingUnavailable && len(r.With) == 0:
		return 0, 0
	case r.Nearest == nil && (r.Code == PoolNotReady || r.Code == MachinesUnused || r.Code == LaunchesRefused):
		return 1, 1 // what it would launch is not known
	case r.Nearest == nil:
		return math.MaxInt, 0
	}
	for _, c := range r.Nearest.Changes {
		switch c.Code {
		case RequirementNotMet:
			foreign += 3
		case TaintNotTolerated, PoolStatic:
			foreign += 2
		case ExcludedByPool, NoInstanceTypes, PoolNotReady, MachinesUnused, LaunchesRefused:
			foreign++
		}
	}
	return len(r.Nearest.Changes), foreign
}
