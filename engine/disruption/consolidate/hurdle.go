package consolidate

import (
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Terms are what a pool asks of a move: its policy, its size, and what became of earlier
// moves.
type Terms struct {
	// The policy is the NodePolicy's, with its defaults.
	snapshot.DisruptionPolicy
	// Closed is why the pool launches no machines like its own now, the zero value if it does.
	Closed plan.Reason
	// StartUp is how long new machines run beside the old ones.
	StartUp time.Duration
	// Price is that of all machines of the pool in $/h, Machines how many they are, and Cost
	// what moving all its pods costs, in pods. Balanced is true if the pool's consolidation policy is.
	Price, Cost float64
	Machines    int
	Balanced    bool
	// Churn is what was moved lately.
	Churn Churn
}

// Churn is how many pods of a pool were evicted lately, how many it has, what moves saved that was
// soon spent again, in $/h and as a share (see [churnlog.Wasted]), and when the first of those
// evictions is forgotten.
type Churn struct {
	Evicted, Pods int
	Spent, Wasted float64
	Until         time.Time
	Expected      Expected
}

// Expected is for how many pods that may come a pool keeps room, and until when if none comes.
type Expected struct {
	Pods  int
	Until time.Time
}

// weight is what churn adds to the weight of a pod.
func (c Churn) weight() float64 {
	evicted := min(1, float64(c.Evicted)/(float64(max(c.Pods, 1))*fullEvicted))
	return min(churnWeight*c.Wasted*evicted, mostChurn)
}

// The weights of a pod that moves, in pods: how much of the price of an average pod of its
// pool the move has to save for it.
const (
	// balancedWeight is Karpenter's 1/k with k = 2, for pools that are Balanced.
	balancedWeight = 0.5
	// replacedWeight is for pods that move to new machines, in pools that are not Balanced; those that
	// move to room that is there weigh nothing by themselves.
	replacedWeight = 0.1
	// Churn adds churnWeight times the share of savings that was soon spent again, mostChurn at
	// most, and in proportion less where less than fullEvicted of the pool's pods was evicted
	// lately. If an eighth was spent again, only machines go that are emptier than the average.
	churnWeight = 8
	fullEvicted = 0.04
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

// reason is why a move that saves less is not made.
func (h *hurdle) reason(c Candidate, saving float64) plan.Reason {
	r := plan.Reason{
		Code: plan.SavingTooSmall, Objects: nodeRef(c), Field: h.field, Want: plan.PerHour(h.dollars), Have: plan.PerHour(saving), Total: h.types,
	}
	if h.field == fieldPolicy || h.field == fieldChurn {
		r.Objects = []plan.ObjectRef{plan.PoolRef(c.Node.Pool())}
	}
	if h.field == fieldChurn {
		r.Removed, r.Total, r.Until = h.churn.Evicted, h.churn.Pods, h.churn.Until
		r.Hint = plan.PerHour(h.churn.Spent)
	}
	return r
}

// hurdle is that of a move: the highest of those of the pools that machines go from.
func (s *search) hurdle(c *component) hurdle {
	pods, price := map[string]float64{}, map[string]float64{}
	for _, n := range c.nodes {
		pods[n.Node.Pool()] += n.Cost
		price[n.Node.Pool()] += n.Price
	}
	var out hurdle
	for _, pool := range slices.Sorted(maps.Keys(pods)) {
		t := s.Terms[pool]
		// What the move saves is shared out among the pools by their machines' price.
		disruption := t.disruption(len(c.launch) > 0, pods[pool]*priceOf(c.nodes)/price[pool])
		for _, h := range []hurdle{disruption, t.payback(c), t.share(c), t.added(c)} {
			if h.dollars > out.dollars {
				out = h
			}
		}
	}
	return out
}

// disruption is what a move must save for the pods that it moves: each of them is worth
// its weight in average pods of the pool.
func (t Terms) disruption(replaced bool, pods float64) hurdle {
	h := hurdle{field: fieldPolicy}
	weight, churn := 0.0, t.Churn.weight()
	switch {
	case t.Balanced:
		weight = balancedWeight
	case replaced:
		weight = replacedWeight
	}
	if churn > weight {
		h.field, h.churn = fieldChurn, t.Churn
	}
	h.dollars = (weight + churn) * t.Price / t.Cost * pods
	return h
}

// payback is what a move must save to have earned what it costs in time.
func (t Terms) payback(c *component) hurdle {
	if t.PaybackTime <= 0 {
		return hurdle{}
	}
	cost := plan.PriceOf(c.launch) * t.StartUp.Hours()
	for _, n := range c.nodes {
		cost += t.PodMoveCost * (n.Cost - 1)
	}
	return hurdle{dollars: cost / t.PaybackTime.Hours(), field: fieldPayback}
}

// share is what replacements must save of the price. If the new machines would be spot
// machines for spot machines, the cloud may interrupt them sooner, the more so the fewer
// types it can choose from at a price that still saves something:
//
//	share = MinSaving + (MinSpotSaving - MinSaving) * MinSpotTypes / types
//
// which is MinSpotSaving for MinSpotTypes types, less for more of them, and more for fewer.
func (t Terms) share(c *component) hurdle {
	if len(c.launch) == 0 {
		return hurdle{}
	}
	before := priceOf(c.nodes)
	saving := before - plan.PriceOf(c.launch)
	out := hurdle{dollars: t.MinSaving * before, field: fieldSaving}
	spot := !slices.ContainsFunc(c.nodes, func(n Candidate) bool { return n.Node.Labels()[catalog.CapacityTypeLabel] != catalog.Spot })
	for _, fresh := range c.launch {
		if spot && fresh.Choice.Offering.CapacityType == catalog.Spot {
			types := distinct(fresh, saving+fresh.Choice.Offering.Price)
			share := t.MinSaving + (t.MinSpotSaving-t.MinSaving)*float64(t.MinSpotTypes)/float64(types)
			if share*before > out.dollars {
				out = hurdle{dollars: share * before, field: fieldSpot, types: types}
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

// added is what the machines must save by which a move makes its pools larger.
func (t Terms) added(c *component) hurdle {
	more := len(c.launch) - len(c.nodes)
	if more <= 0 {
		return hurdle{}
	}
	return hurdle{dollars: addedWeight * float64(more) * t.Price / float64(t.Machines), field: fieldAdded, types: more}
}
