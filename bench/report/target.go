package report

import (
	"fmt"

	"github.com/millwright-dev/millwright/bench/suite"
)

// What is promised of every workload, by how many times as many pods per CPU second
// and by price.
const (
	timesPlain    = 30
	timesTopology = 100
	timesWaves    = 10
	mostOver      = 1.02
	// aNode is the share of the other's price that a node more has to save where prices
	// are linear in size.
	aNode = 0.01
)

// targets says what is promised.
const targets = "Targets: 100 times as many pods per CPU second where pods have topology constraints, 30 times elsewhere, 10 times where pods come in waves; " +
	"a price at most 2 % above the bound where they do not, and never above the other's; where prices are linear in size a node more than the other's only for each 1 % that the plan is cheaper; every pod placed that some machine can take, by a plan that is right; " +
	"arrivals-100x50 at most 12 % above the bound, lognormal-50k within 1 s, spread-100x50 within 0.2 s, hopeless-15k within 1 s and 300 MiB."

// missed lists the targets that our row does not meet.
func missed(ours, theirs suite.Row) []string {
	var out []string
	miss := func(yes bool, format string, args ...any) {
		if yes {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	least := float64(timesPlain)
	switch {
	case ours.Waves:
		least = timesWaves
	case ours.Topology:
		least = timesTopology
	}
	faster := perCPU(ours) / perCPU(theirs)
	over := ours.PricePerHour / ours.PlacedBound.PerHour
	const rounding = 1e-9
	miss(ours.Wrong != nil, "the plan is wrong")
	miss(ours.Unplaced > ours.Bound.Impossible, "%d pods have no place that could have one", ours.Unplaced-ours.Bound.Impossible)
	miss(faster < least, "%.1f times the pods per CPU second, promised are %.0f", faster, least)
	most := ours.Most.Price
	if most == 0 && !ours.Topology {
		most = mostOver
	}
	miss(most > 0 && over > most, "%.1f %% above the bound, promised are %.0f", 100*(over-1), 100*(most-1))
	miss(ours.Unplaced == theirs.Unplaced && ours.PricePerHour > theirs.PricePerHour*(1+rounding), "costs more than %s", theirs.Engine)
	saved := 1 - ours.PricePerHour/theirs.PricePerHour
	miss(ours.Linear && float64(ours.Nodes-theirs.Nodes) > saved/aNode, "%d nodes where %s has %d, for a price %.1f %% lower", ours.Nodes, theirs.Engine, theirs.Nodes, 100*saved)
	miss(ours.Most.Wall > 0 && ours.Wall > ours.Most.Wall, "%.3f s, promised are %g", seconds(ours.Wall), seconds(ours.Most.Wall))
	miss(ours.Most.Heap > 0 && ours.PeakHeap > ours.Most.Heap, "%s MiB, promised are %s", mebibytes(ours.PeakHeap), mebibytes(ours.Most.Heap))
	return out
}
