package consolidate

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// most is how many machines a group has at most. Larger groups pack better and
// cost more when one of their replacements fails.
const most = 8

// wasteful is a candidate that costs more than what it holds is worth.
type wasteful struct {
	Candidate
	waste float64 // share of its price
}

// replace finds groups of machines that new ones could stand in for at a lower
// price: first as groups, then one by one.
func (s *search) replace() {
	list := s.wasteful()
	if len(list) == 0 {
		return
	}
	for size := most; size >= 1; size /= 2 {
		s.replaceGroups(list, size)
	}
}

// wasteful are the candidates that are left, those that waste the most first,
// pool by pool. The others are told why they are not looked at.
func (s *search) wasteful() []wasteful {
	r := newRates(s.sieve.dims, s.World.Pools())
	var out []wasteful
	for _, c := range s.Candidates {
		p := s.sieve.at[c.Node.Name]
		if s.World.Machine(c.Node.Name) == nil || s.used[c.Node.Name] || p == nil {
			continue
		}
		need := make([]int64, len(s.sieve.dims.Names))
		for _, b := range s.sieve.bundles(c.Node) {
			vector.Add(need, s.sieve.need(b.class), int64(b.count))
		}
		w := wasteful{c, 1 - r.value(need)/c.Price}
		if w.waste <= s.Minimum[c.Node.Pool()].Saving {
			s.stay(c, plan.Reason{Code: plan.NothingCheaper, Objects: []plan.ObjectRef{{Kind: "Node", Name: c.Node.Name}}, Have: dollars(c.Price), Want: dollars(r.value(need))}, 0)
			continue
		}
		s.stay(c, plan.Reason{Code: plan.NotExamined, Objects: []plan.ObjectRef{{Kind: "Node", Name: c.Node.Name}}, Have: dollars(c.Price * w.waste)}, c.Price*w.waste)
		out = append(out, w)
	}
	slices.SortStableFunc(out, func(a, b wasteful) int {
		return cmp.Or(
			cmp.Compare(a.Node.Pool(), b.Node.Pool()),
			-cmp.Compare(a.waste/a.Cost, b.waste/b.Cost),
			cmp.Compare(a.Node.Name, b.Node.Name),
		)
	})
	return out
}

// stay notes why a candidate stays, unless something better is known.
func (s *search) stay(c Candidate, reason plan.Reason, saving float64) {
	was, known := s.Stays[c.Node.Name]
	if !known || was.Reason.Code != plan.BudgetExhausted && was.Reason.Code != plan.NotWorthDisruption {
		s.Stays[c.Node.Name] = Stay{reason, saving}
	}
}

// replaceGroups asks about one group after the other, beginning with another one
// each turn.
func (s *search) replaceGroups(list []wasteful, size int) {
	groups := slices.Collect(slices.Chunk(list, size))
	first := int(s.Turn % int64(len(groups)))
	for i := range groups {
		if s.World.Asked >= s.left {
			return
		}
		s.replaceGroup(groups[(first+i)%len(groups)])
	}
}

// replaceGroup asks about those of a group that are still there, as many as the
// budgets allow.
func (s *search) replaceGroup(list []wasteful) {
	var group []Candidate
	for _, w := range list {
		if s.World.Machine(w.Node.Name) == nil || s.used[w.Node.Name] {
			continue
		}
		if pool, ok := s.afford(append(slices.Clip(group), w.Candidate)); !ok {
			s.stay(w.Candidate, plan.Reason{Code: plan.BudgetExhausted, Objects: poolRef(pool)}, w.Price*w.waste)
			continue
		}
		group = append(group, w.Candidate)
	}
	if len(group) == 0 {
		return
	}
	answer := s.World.Ask(nodes(group))
	for _, part := range components(group, answer) {
		s.judge(part, answer)
	}
}

// component is machines whose pods share new machines.
type component struct {
	nodes  []Candidate
	launch []plan.NewNode
	// homeless is a pod for which there is no machine at all, nil if there is none.
	homeless *snapshot.Pod
}

// components divides a group by who shares new machines with whom.
func components(group []Candidate, answer whatif.Answer) []*component {
	of := map[string]*component{}
	var all []*component
	for _, c := range group {
		one := &component{nodes: []Candidate{c}}
		of[c.Node.Name], all = one, append(all, one)
	}
	join := func(a, b *component) *component {
		if a == nil || a == b {
			return b
		}
		for _, c := range b.nodes {
			of[c.Node.Name] = a
		}
		a.nodes = append(a.nodes, b.nodes...)
		a.launch = append(a.launch, b.launch...)
		all = slices.DeleteFunc(all, func(c *component) bool { return c == b })
		return a
	}
	for _, n := range answer.NewNodes {
		var whole *component
		for _, pod := range n.Pods {
			whole = join(whole, of[answer.From(pod)])
		}
		whole.launch = append(whole.launch, n)
	}
	refused := answer.Refused()
	for _, c := range group {
		if pod := refused[c.Node.Name]; pod != nil {
			of[c.Node.Name].homeless = pod
		}
	}
	return all
}

// judge takes a move that is worth it.
func (s *search) judge(c *component, answer whatif.Answer) {
	if c.homeless != nil {
		s.stayAll(c, fitsNowhere(c.nodes[0], c.homeless), 0)
		return
	}
	before, after := 0.0, 0.0
	for _, n := range c.nodes {
		before += n.Price
	}
	for _, n := range c.launch {
		after += n.Choice.Offering.Price
	}
	saving := before - after
	asked, types := s.least(c)
	reason := plan.Reason{
		Code: plan.SavingTooSmall, Objects: []plan.ObjectRef{{Kind: "Node", Name: c.nodes[0].Node.Name}},
		Want: dollars(asked * before), Have: dollars(saving),
	}
	switch {
	case len(c.launch) > 0 && saving <= 0:
		reason.Code, reason.Want, reason.Have = plan.NothingCheaper, dollars(after), dollars(before)
		s.stayAll(c, reason, 0)
		return
	case len(c.launch) > 0 && saving < asked*before:
		s.stayAll(c, reason, saving)
		return
	case types < 0:
		reason.Code, reason.Want, reason.Have = plan.TooFewTypes, "", strconv.Itoa(-types)
		s.stayAll(c, reason, saving)
		return
	}
	if reason, worth := s.worthwhile(c.nodes, len(c.launch), saving); !worth {
		s.stayAll(c, reason, saving)
		return
	}
	limit(c.launch, saving-asked*before)
	s.take(c.nodes, c.launch, saving, answer)
}

func (s *search) stayAll(c *component, reason plan.Reason, saving float64) {
	for _, n := range c.nodes {
		s.stay(n, reason, saving/float64(len(c.nodes)))
	}
}

// least is the share that must be saved, and how many more types than asked for
// the cloud can choose from; negative if that is too few.
func (s *search) least(c *component) (share float64, types int) {
	spot := !slices.ContainsFunc(c.nodes, func(n Candidate) bool { return n.Node.Labels()[catalog.CapacityTypeLabel] != catalog.Spot })
	for _, n := range c.nodes {
		m := s.Minimum[n.Node.Pool()]
		share = max(share, m.Saving)
		for _, fresh := range c.launch {
			if spot && fresh.Choice.Offering.CapacityType == catalog.Spot {
				share = max(share, m.SpotSaving)
				types = min(types, distinct(fresh)-m.SpotTypes)
			}
		}
	}
	return share, types
}

func distinct(n plan.NewNode) int {
	seen := map[string]bool{}
	for _, a := range n.Alternatives {
		if a.Offering.CapacityType == catalog.Spot {
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
