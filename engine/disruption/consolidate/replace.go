package consolidate

import (
	"cmp"
	"slices"

	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// largest is how many machines are asked about together at first. Larger groups pack
// better; they cost more pods their place when one of their replacements fails.
const largest = 32

// replace finds groups of machines that new ones could stand in for at a lower
// price: those that waste the most for each pod that would move, in groups as large as may
// be, and then those that are left one by one.
func (s *search) replace() {
	list := s.wasteful()
	s.adoptGroups(slices.Collect(slices.Chunk(list, largest)))
	list = slices.DeleteFunc(list, func(c Candidate) bool { return !s.available(c) })
	s.adoptGroups(slices.Collect(slices.Chunk(list, 1)))
}

// available reports whether a candidate is in no move yet, neither as one that goes
// nor as one that takes pods.
func (s *search) available(c Candidate) bool {
	return s.World.Machine(c.Node.Name) != nil && !s.used[c.Node.Name]
}

// wasteful are the candidates that are left and cost more than what their pods need besides
// the room that others have, those that waste the most first, pool by pool. The others are
// told why they are not looked at.
func (s *search) wasteful() []Candidate {
	r := s.rates
	s.prefilter = newPrefilter(s.World, s.Candidates)
	var out []Candidate
	for _, c := range s.Candidates {
		if !s.available(c) {
			continue
		}
		need := make([]int64, len(s.prefilter.dims.Names))
		for _, b := range s.prefilter.remove(c.Node, true) {
			vector.Add(need, s.prefilter.need(b.class), int64(b.count))
		}
		c.waste = c.Price - r.value(need)
		if c.waste <= s.Terms[c.Node.Pool()].MinSaving*c.Price {
			s.stay(alone(c), Stay{Reason: plan.Reason{Code: plan.NothingCheaper, Objects: nodeRef(c), Have: plan.PerHour(c.Price), Want: plan.PerHour(min(r.value(need), c.Price))}})
			continue
		}
		if h := s.Terms[c.Node.Pool()].disruption(true, c.Cost); c.waste < h.dollars {
			s.stay(alone(c), Stay{Reason: h.reason(c, c.waste), Saving: c.waste})
			continue
		}
		s.stay(alone(c), Stay{Reason: plan.Reason{Code: plan.NotExamined, Objects: nodeRef(c), Have: plan.PerHour(c.waste)}, Saving: c.waste})
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Candidate) int {
		return cmp.Or(
			cmp.Compare(a.Node.Pool(), b.Node.Pool()),
			-cmp.Compare(a.waste/a.Cost, b.waste/b.Cost),
			cmp.Compare(a.Node.Name, b.Node.Name),
		)
	})
	return out
}

// adoptGroups asks about one group after the other as long as there is work left, with half
// of it in order and with the rest at random, and makes moves of what is worth it.
func (s *search) adoptGroups(groups [][]Candidate) {
	inOrder, half := true, (s.World.Asked+s.left)/2
	for i := 0; i < len(groups) && s.World.Asked < s.left; i++ {
		if inOrder && s.World.Asked >= half {
			inOrder = false
			s.Random.Shuffle(len(groups)-i, func(a, b int) { groups[i+a], groups[i+b] = groups[i+b], groups[i+a] })
		}
		s.adopt(s.affordable(groups[i]))
	}
}

// affordable are those of a group that the budgets allow.
func (s *search) affordable(list []Candidate) []Candidate {
	var group []Candidate
	for _, c := range list {
		if !s.available(c) {
			continue
		}
		if _, no := s.Refuses(nodes(append(slices.Clip(group), c))); no {
			s.wait(c, c.waste)
			continue
		}
		group = append(group, c)
	}
	return group
}

// adopt asks what could stand in for a group, and makes moves of what is worth it.
func (s *search) adopt(group []Candidate) {
	if len(group) == 0 {
		return
	}
	answer := s.World.Ask(nodes(group))
	for _, part := range components(group, answer) {
		// Pods of another part may go there.
		if !slices.ContainsFunc(part.nodes, func(c Candidate) bool { return !s.available(c) }) {
			s.judge(part, answer)
		}
	}
}

func priceOf(list []Candidate) float64 {
	sum := 0.0
	for _, c := range list {
		sum += c.Price
	}
	return sum
}

// component is machines whose pods share new machines.
type component struct {
	nodes  []Candidate
	launch []plan.NewNode
	// unplaced is a pod for which there is no machine at all, nil if there is none.
	unplaced *snapshot.Pod
}

func alone(c Candidate) *component { return &component{nodes: []Candidate{c}} }

// components divides a group by who shares new machines with whom.
func components(group []Candidate, answer whatif.Answer) []*component {
	of, refused := map[string]*component{}, answer.Refused()
	var all []*component
	for _, c := range group {
		one := &component{nodes: []Candidate{c}, unplaced: refused[c.Node.Name]}
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
		a.unplaced = cmp.Or(a.unplaced, b.unplaced)
		all = slices.DeleteFunc(all, func(c *component) bool { return c == b })
		return a
	}
	for _, n := range answer.NewNodes {
		var whole *component
		first := n.Pods[0]
		for _, pod := range n.Pods {
			whole = join(whole, of[answer.From(pod)])
		}
		if n.Pods = slices.DeleteFunc(slices.Clone(n.Pods), whatif.Kept); len(n.Pods) == 0 {
			whole.unplaced = cmp.Or(whole.unplaced, first) // nothing is launched to keep room
			continue
		}
		whole.launch = append(whole.launch, n)
	}
	return all
}
