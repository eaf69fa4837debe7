package consolidate

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Terms are what a pool asks of a move: its policy, its size, and what became of earlier
// moves.
type Terms struct {
	// Saving is the least share of the price that a replacement must save.
	Saving float64
	// SpotSaving is asked of a spot machine for a spot machine if there are SpotTypes
	// types to choose from.
	SpotSaving float64
	SpotTypes  int
	// Payback is within what time a move must save what it costs, zero for no bound:
	// new machines for StartUp beside the old ones, and PodCost dollars for each pod.
	Payback, StartUp time.Duration
	PodCost          float64
	// Price is that of all machines of the pool in $/h, Machines how many they are, and Cost
	// what moving all its pods costs, in pods. Balanced is true if the pool's consolidation policy is.
	Price, Cost float64
	Machines    int
	Balanced    bool
	// Churn is what was moved lately.
	Churn Churn
}

// Churn is how many pods of a pool were evicted lately, how many it has, which share of what
// moves saved was soon spent again, and when the first of those evictions is forgotten.
type Churn struct {
	Evicted, Pods int
	Wasted        float64
	Until         time.Time
}

// weight is what churn adds to the weight of a pod.
func (c Churn) weight() float64 {
	return min(churnWeight*c.Wasted*float64(c.Evicted)/float64(max(c.Pods, 1)), mostChurn)
}

// The weights of a pod that moves, in pods: how much of the price of an average pod of its
// pool the move has to save for it.
const (
	// balancedWeight is Karpenter's 1/k with k = 2, for pools that are Balanced.
	balancedWeight = 0.5
	// replacedWeight is for pods that move to new machines, in pools that are not Balanced; those that
	// move to room that is there weigh nothing by themselves.
	replacedWeight = 0.1
	// Churn adds churnWeight for the share of the pool's pods that were evicted lately, times
	// the share of what moves saved that was soon spent again; mostChurn at most. If all was
	// spent again and one pod of two hundred was evicted, only machines go that are emptier
	// than the average.
	churnWeight = 200
	mostChurn   = 1.5
	// addedWeight is what each machine by which a move makes the pool larger must save, in
	// average machines of the pool: a machine is one more to run, to patch and to fail.
	addedWeight = 0.1
)

// hurdle is what a move must save, in $/h. It is the highest of four amounts:
//
//	share of the price        minSavingPercent, spotToSpot; replacements only
//	cost of moving / payback  podMoveCost for each pod, and the new machines while both run
//	weight * pods * $/h a pod the pool's price shared out among its pods; the weight is that
//	                          of the consolidation policy and of churn
//	addedWeight * machines    that are launched in excess of those that go, each worth the
//	                          pool's average machine
type hurdle struct {
	dollars float64
	// field is the setting that decides, types how many there are to choose from if it is
	// spotToSpot, and how many machines more there would be if it is fieldAdded, and churn is set if it is churn that decides.
	field string
	types int
	churn Churn
}

// Fields of a hurdle.
const (
	fieldSaving  = "minSavingPercent"
	fieldSpot    = "spotToSpot"
	fieldPayback = "paybackTime"
	fieldPolicy  = "consolidationPolicy"
	fieldChurn   = "loopFreeze"
	fieldAdded   = "machines"
)

func (h *hurdle) raise(other hurdle) {
	if other.dollars > h.dollars {
		*h = other
	}
}

// reason is why a move that saves less is not made.
func (h *hurdle) reason(c Candidate, saving float64) plan.Reason {
	r := plan.Reason{
		Code: plan.SavingTooSmall, Objects: nodeRef(c), Field: h.field, Want: dollars(h.dollars), Have: dollars(saving), Total: h.types,
	}
	if h.field == fieldPolicy || h.field == fieldChurn {
		r.Objects = []plan.ObjectRef{{Kind: "NodePool", Name: c.Node.Pool()}}
	}
	if h.field == fieldChurn {
		r.Removed, r.Total, r.Until = h.churn.Evicted, h.churn.Pods, h.churn.Until
		r.Hint = strconv.Itoa(int(math.Round(100*h.churn.Wasted))) + "%"
	}
	return r
}

// hurdle is that of a move.
func (s *search) hurdle(c *component) hurdle {
	h := s.disruption(c.nodes, c.launch)
	h.raise(s.payback(c))
	h.raise(s.share(c))
	h.raise(s.added(c))
	return h
}

// added is what the machines must save by which a move makes its pools larger.
func (s *search) added(c *component) hurdle {
	var out hurdle
	more := len(c.launch) - len(c.nodes)
	if more <= 0 {
		return out
	}
	for _, n := range c.nodes {
		if t := s.Terms[n.Node.Pool()]; t.Machines > 0 {
			out.raise(hurdle{dollars: addedWeight * float64(more) * t.Price / float64(t.Machines), field: fieldAdded, types: more})
		}
	}
	return out
}

// share is what replacements must save of the price. If the new machines would be spot
// machines for spot machines, the cloud may interrupt them sooner, the more so the fewer
// types it can choose from at a price that still saves something:
//
//	share = Saving + (SpotSaving - Saving) * SpotTypes / types
//
// which is SpotSaving for SpotTypes types, less for more of them, and more for fewer.
func (s *search) share(c *component) hurdle {
	var out hurdle
	before := priceOf(c.nodes)
	saving := before - plan.PriceOf(c.launch)
	spot := !slices.ContainsFunc(c.nodes, func(n Candidate) bool { return n.Node.Labels()[catalog.CapacityTypeLabel] != catalog.Spot })
	for _, n := range c.nodes {
		t := s.Terms[n.Node.Pool()]
		for _, fresh := range c.launch {
			out.raise(hurdle{dollars: t.Saving * before, field: fieldSaving})
			if spot && fresh.Choice.Offering.CapacityType == catalog.Spot {
				types := distinct(fresh, saving+fresh.Choice.Offering.Price)
				share := t.Saving + (t.SpotSaving-t.Saving)*float64(t.SpotTypes)/float64(types)
				out.raise(hurdle{dollars: share * before, field: fieldSpot, types: types})
			}
		}
	}
	return out
}

// distinct counts the spot types that a machine can become below a price, its choice
// included.
func distinct(n plan.NewNode, below float64) int {
	seen := map[string]bool{n.Choice.Type.Name: true}
	for _, a := range n.Alternatives {
		if a.Offering.CapacityType == catalog.Spot && a.Offering.Price < below {
			seen[a.Type.Name] = true
		}
	}
	return len(seen)
}

// payback is what a move must save to have earned what it costs in time, for every pool.
func (s *search) payback(c *component) hurdle {
	var out hurdle
	beside, pods := plan.PriceOf(c.launch), costOf(c.nodes)-float64(len(c.nodes))
	for _, n := range c.nodes {
		if t := s.Terms[n.Node.Pool()]; t.Payback > 0 {
			out.raise(hurdle{dollars: (beside*t.StartUp.Hours() + t.PodCost*pods) / t.Payback.Hours(), field: fieldPayback})
		}
	}
	return out
}

// disruption is what a move must save for the pods that it moves, for every pool: each of
// them is worth its weight in average pods of the pool.
func (s *search) disruption(nodes []Candidate, launch []plan.NewNode) hurdle {
	price := priceOf(nodes)
	var out hurdle
	for _, of := range pools(nodes) {
		t := s.Terms[of[0].Node.Pool()]
		if t.Price <= 0 || t.Cost <= 0 {
			continue
		}
		h := hurdle{field: fieldPolicy}
		weight, churn := 0.0, t.Churn.weight()
		switch {
		case t.Balanced:
			weight = balancedWeight
		case len(launch) > 0:
			weight = replacedWeight
		}
		if churn > weight {
			h.field, h.churn = fieldChurn, t.Churn
		}
		// What the move saves is shared out among the pools by their machines' price.
		h.dollars = (weight + churn) * t.Price / t.Cost * costOf(of) * price / priceOf(of)
		out.raise(h)
	}
	return out
}

// pools divides candidates by their pool.
func pools(list []Candidate) [][]Candidate {
	var out [][]Candidate
	for _, c := range list {
		i := slices.IndexFunc(out, func(of []Candidate) bool { return of[0].Node.Pool() == c.Node.Pool() })
		if i < 0 {
			out = append(out, nil)
			i = len(out) - 1
		}
		out[i] = append(out[i], c)
	}
	return out
}

func costOf(list []Candidate) float64 {
	sum := 0.0
	for _, c := range list {
		sum += c.Cost
	}
	return sum
}
