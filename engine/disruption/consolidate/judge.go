package consolidate

import (
	"slices"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// judge says what a move saves, and whether it is worth it.
func (s *search) judge(c *component) (saving float64, worth bool) {
	before, after := priceOf(c.nodes), 0.0
	if c.homeless != nil {
		if len(c.nodes) == 1 {
			s.stay(c.nodes[0], s.homeless(c.nodes[0], c.homeless), 0)
		}
		return 0, false
	}
	for _, n := range c.launch {
		after += n.Choice.Offering.Price
	}
	saving = before - after
	asked, missing := s.least(c, before, after)
	reason := plan.Reason{
		Code: plan.SavingTooSmall, Objects: []plan.ObjectRef{{Kind: "Node", Name: c.nodes[0].Node.Name}},
		Want: dollars(asked * before), Have: dollars(saving),
	}
	switch {
	case len(c.launch) > 0 && saving <= 0:
		reason.Code, reason.Want, reason.Have = plan.NothingCheaper, dollars(after), dollars(before)
		s.stayAll(c, reason, 0)
		return saving, false
	case len(c.launch) > 0 && saving < asked*before:
		if missing > 0 {
			reason.Code, reason.Want, reason.Have = plan.TooFewTypes, "", strconv.Itoa(missing)
		}
		s.stayAll(c, reason, saving)
		return saving, false
	}
	if reason, worth := s.paysBack(c, saving); !worth {
		s.stayAll(c, reason, saving)
		return saving, false
	}
	if reason, worth := s.worthwhile(c.nodes, len(c.launch), saving); !worth {
		s.stayAll(c, reason, saving)
		return saving, false
	}
	limit(c.launch, saving-asked*before)
	return saving, true
}

// paysBack says whether a move saves soon enough what it costs, for every pool.
func (s *search) paysBack(c *component, saving float64) (plan.Reason, bool) {
	beside := 0.0 // $/h
	for _, n := range c.launch {
		beside += n.Choice.Offering.Price
	}
	for _, n := range c.nodes {
		m := s.Minimum[n.Node.Pool()]
		if m.Payback == 0 {
			continue
		}
		dollars := beside*m.StartUp.Hours() + m.PodCost*(costOf(c.nodes)-float64(len(c.nodes)))
		after := time.Duration(dollars / saving * float64(time.Hour))
		if after > m.Payback {
			return plan.Reason{
				Code: plan.PaysBackTooSlowly, Objects: []plan.ObjectRef{{Kind: "Node", Name: n.Node.Name}},
				Want: m.Payback.String(), Have: after.Round(time.Second).String(),
			}, false
		}
	}
	return plan.Reason{}, true
}

func costOf(list []Candidate) float64 {
	sum := 0.0
	for _, c := range list {
		sum += c.Cost
	}
	return sum
}

// homeless says why a pod has no place for less than its machine costs: there is
// none at any price, or it costs as much.
func (s *search) homeless(c Candidate, pod *snapshot.Pod) plan.Reason {
	need := s.sieve.need(pod.Class)
	held := slices.ContainsFunc(s.wares, func(w ware) bool { return w.price < c.Price && room(need, w.have, 1) > 0 })
	if !held || s.World.Ask([]*snapshot.Node{c.Node}).Refused()[c.Node.Name] == nil {
		return plan.Reason{
			Code: plan.NothingCheaper, Objects: []plan.ObjectRef{{Kind: "Node", Name: c.Node.Name}},
			Want: dollars(c.Price), Have: dollars(c.Price),
		}
	}
	return fitsNowhere(c, pod)
}

func (s *search) stayAll(c *component, reason plan.Reason, saving float64) {
	for _, n := range c.nodes {
		s.stay(n, reason, saving/float64(len(c.nodes)))
	}
}

// least is the share that must be saved. If the new machines would be spot machines for
// spot machines, the cloud may interrupt them sooner, the more so the fewer types it can
// choose from at a price that still saves something:
//
//	share = Saving + (SpotSaving - Saving) * SpotTypes / types
//
// which is SpotSaving for SpotTypes types, less for more of them, and more for fewer.
// Missing is how many types are lacking until SpotSaving would do.
func (s *search) least(c *component, before, after float64) (share float64, missing int) {
	spot := !slices.ContainsFunc(c.nodes, func(n Candidate) bool { return n.Node.Labels()[catalog.CapacityTypeLabel] != catalog.Spot })
	for _, n := range c.nodes {
		m := s.Minimum[n.Node.Pool()]
		share = max(share, m.Saving)
		for _, fresh := range c.launch {
			if spot && fresh.Choice.Offering.CapacityType == catalog.Spot {
				types := distinct(fresh, before-after+fresh.Choice.Offering.Price)
				share = max(share, m.Saving+(m.SpotSaving-m.Saving)*float64(m.SpotTypes)/float64(types))
				missing = max(missing, m.SpotTypes-types)
			}
		}
	}
	return share, missing
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

// limit leaves the new machines only alternatives that are bought in the same way
// as the choice and that together stay within what may be spent on top.
func limit(list []plan.NewNode, spare float64) {
	for i := range list {
		n := &list[i]
		if slices.ContainsFunc(n.Requirements, func(r requirement.Requirement) bool { return r.MinValues() > 0 }) {
			continue // the pool wants a choice; what comes of it is checked at the launch
		}
		ceiling := n.Choice.Offering.Price + spare/float64(len(list))
		var kept []catalog.Choice
		for _, a := range n.Alternatives {
			if a.Offering.CapacityType == n.Choice.Offering.CapacityType && a.Offering.Price <= ceiling {
				kept = append(kept, a)
			}
		}
		n.Alternatives = kept
	}
}

// worthwhile says why a move is not worth its disruption to a pool: the share of
// the pool's price that it saves must not be too small beside the share of the
// pool's pods that it moves. Unless the pool is Balanced that is asked of
// replacements only.
func (s *search) worthwhile(nodes []Candidate, launches int, saving float64) (plan.Reason, bool) {
	price := 0.0
	byPool := map[string]Total{}
	for _, c := range nodes {
		price += c.Price
		t := byPool[c.Node.Pool()]
		byPool[c.Node.Pool()] = Total{Price: t.Price + c.Price, Cost: t.Cost + c.Cost}
	}
	for _, c := range nodes {
		pool := c.Node.Pool()
		total := s.Totals[pool]
		least := leastScore
		if total.Balanced {
			least = leastBalancedScore
		} else if launches == 0 {
			continue
		}
		if total.Price <= 0 || price <= 0 {
			continue
		}
		saved := saving * byPool[pool].Price / price / total.Price
		moved := byPool[pool].Cost / total.Cost
		if saved < least*moved {
			return plan.Reason{
				Code: plan.NotWorthDisruption, Objects: []plan.ObjectRef{{Kind: "NodePool", Name: pool}},
				Want: percent(least * moved), Have: percent(saved),
			}, false
		}
	}
	return plan.Reason{}, true
}

// The least share of the price that must be saved for a share of the pods to move:
// Karpenter's 1/k with k = 2 for Balanced pools, and for others a tenth, below which
// many pods would move for little.
const (
	leastBalancedScore = 0.5
	leastScore         = 0.1
)
