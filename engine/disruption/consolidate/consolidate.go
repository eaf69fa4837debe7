// Package consolidate looks for machines that the cluster can do without, and for
// machines that can be replaced by cheaper ones.
//
//	Input (a world, candidates, budgets) ──► Find ──► Begin for every Move, and a reason for every other candidate
//
// Candidates that would be well worth replacing even if they were full of pods like
// their own take no pods of others: pods should move once (value.go).
//
// It has two halves. A prefilter (prefilter.go) puts the pods of one candidate after the
// other onto the room that is left, by amounts, labels and taints alone; that is
// fast enough to try every candidate in every pass, and to see further than the
// budgets: pods go to machines that will still be there when all that can go has
// gone. What passes is put to placement in one question (remove.go), which knows
// all the rules. Candidates that hold less than they cost (value.go) are then put
// to placement with new machines to choose from (replace.go): many to none, to one, or
// to several, of whatever pool and capacity type. Those that waste the most for each
// pod that would move come first, in groups as large as may be; what is left is
// asked about alone. Every move has one hurdle, in $/h (hurdle.go).
//
// Work is counted, not timed, so that the same input gives the same moves; where it does
// not suffice for every group, half of it is for those further down the list, picked at random.
//
// Room that the world keeps for pods to come (kept.go) moves like pods that cost nothing to move,
// and nothing is launched for it.
//
// Invariants: moves together exceed no budget; a machine that takes pods of a move
// is in no other; every move saves at least its hurdle.
package consolidate

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Candidate is a machine that may go.
type Candidate struct {
	Node *snapshot.Node
	// Price is in $/h.
	Price float64
	// Cost is what moving its pods costs, in pods: 1 and each pod's share.
	Cost float64
	// waste is what it costs beyond what its pods need, in $/h.
	waste float64
}

// Input is the question.
type Input struct {
	// World is changed by every move that is found.
	World      *whatif.World
	Candidates []Candidate
	// Terms are those of all pools.
	Terms map[string]Terms
	// Refuses says which budget keeps machines from going together, besides those of the moves
	// that have begun.
	Refuses func(gone []*snapshot.Node) (plan.Reason, bool)
	// Begin begins a move, or says why it cannot begin now.
	Begin func(Move) (plan.Reason, bool)
	// Work bounds the questions to placement, in machines looked at.
	Work int
	// Random orders the groups that are not asked about in their order.
	Random *rand.Rand
}

// Move is machines that go, and what is launched instead.
type Move struct {
	Nodes  []*snapshot.Node
	Launch []plan.NewNode
	// Placements are the pods that go to machines that exist.
	Placements []plan.Placement
	// Saving is in $/h, and Spare by how much more than it must be.
	Saving, Spare float64
}

// Stay is why a candidate stays.
type Stay struct {
	Reason plan.Reason
	// Saving is what would be saved in $/h without it, as far as that is known.
	Saving float64
	// settled is true if no further question can change it.
	settled bool
}

type search struct {
	Input
	stays     map[string]Stay
	prefilter *prefilter
	offers    []offer
	rates     rates
	// used are the machines that take pods of a move.
	used map[string]bool
	left int
}

// Find looks for moves and begins them. It says of the candidates that stay why, by the
// machine's name.
func Find(in Input) map[string]Stay {
	s := &search{Input: in, stays: map[string]Stay{}, used: map[string]bool{}, left: in.World.Asked + in.Work}
	// Those that cost the most for each pod that would move should go first.
	slices.SortFunc(s.Candidates, func(a, b Candidate) int {
		return cmp.Or(-cmp.Compare(a.Price/a.Cost, b.Price/b.Cost), cmp.Compare(a.Node.Name, b.Node.Name))
	})
	s.prefilter = newPrefilter(in.World, in.Candidates)
	s.offers = newOffers(s.prefilter.dims, in.World.Pools())
	s.rates = newRates(s.prefilter.dims, s.offers)
	s.excludeTargets()
	s.remove()
	s.replace()
	s.tellKept()
	return s.stays
}

// stay notes why the candidates of a component stay, unless something better is known.
func (s *search) stay(c *component, why Stay) {
	why.Saving /= float64(len(c.nodes))
	for _, n := range c.nodes {
		if !s.stays[n.Node.Name].settled {
			s.stays[n.Node.Name] = why
		}
	}
}

// wait notes that moves have used something up that a candidate would need to go. One that
// only went beyond what may go together is asked about in a smaller group.
func (s *search) wait(c Candidate, saving float64) {
	if reason, no := s.Refuses([]*snapshot.Node{c.Node}); no {
		s.stay(alone(c), Stay{Reason: reason, Saving: saving, settled: true})
	}
}

// judge makes a move of a component if it clears its hurdle and the budgets allow it.
func (s *search) judge(c *component, answer whatif.Answer) {
	if c.unplaced != nil {
		if len(c.nodes) == 1 {
			s.stay(c, Stay{Reason: s.unplaced(c.nodes[0], c.unplaced)})
		}
		return
	}
	before, after := priceOf(c.nodes), plan.PriceOf(c.launch)
	saving, h := before-after, s.hurdle(c)
	_, refused := s.Refuses(nodes(c.nodes))
	switch {
	case len(c.launch) > 0 && saving <= 0:
		s.stay(c, Stay{Reason: plan.Reason{Code: plan.NothingCheaper, Objects: nodeRef(c.nodes[0]), Want: plan.PerHour(after), Have: plan.PerHour(before)}})
	case saving < h.dollars:
		s.stay(c, Stay{Reason: h.reason(c.nodes[0], saving), Saving: saving, settled: len(c.launch) == 0 && h.field != fieldPayback})
	case refused:
		for _, n := range c.nodes {
			s.wait(n, saving/float64(len(c.nodes)))
		}
	default:
		s.take(c, Move{Launch: c.launch, Saving: saving, Spare: saving - h.dollars}, answer)
	}
}

// unplaced says why a pod has no place: no cheaper machine would hold it, nothing may be
// launched, or none takes it.
func (s *search) unplaced(c Candidate, pod *snapshot.Pod) plan.Reason {
	if whatif.Kept(pod) {
		return s.roomKept(c)
	}
	need := s.prefilter.need(pod.Class)
	if !slices.ContainsFunc(s.offers, func(w offer) bool { return w.price < c.Price && room(need, w.have, 1) > 0 }) {
		return plan.Reason{Code: plan.NothingCheaper, Objects: nodeRef(c), Want: plan.PerHour(c.Price), Have: plan.PerHour(c.Price)}
	}
	if reason := s.Terms[c.Node.Pool()].Closed; reason.Code != "" {
		return reason
	}
	return s.fitsNowhere(c, pod)
}

func nodeRef(c Candidate) []plan.ObjectRef {
	return []plan.ObjectRef{plan.NodeRef(c.Node.Name)}
}

// take carries a move out, unless it cannot begin now.
func (s *search) take(part *component, m Move, answer whatif.Answer) {
	m.Nodes = nodes(part.nodes)
	slices.SortFunc(m.Nodes, func(a, b *snapshot.Node) int { return cmp.Compare(a.Name, b.Name) })
	for at := range answer.Of(m.Nodes...) {
		if !whatif.Kept(at.Pod) {
			m.Placements = append(m.Placements, at)
		}
	}
	if reason, no := s.Begin(m); no {
		s.stay(part, Stay{Reason: reason, Saving: m.Saving})
		return
	}
	s.World.Go(m.Nodes, answer)
	for _, n := range m.Nodes {
		delete(s.stays, n.Name)
	}
	for _, at := range m.Placements {
		s.used[at.Node.Name] = true
	}
}
