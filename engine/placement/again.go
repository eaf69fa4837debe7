package placement

import (
	"maps"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// again looks once more at pods that mind who is near and have no place: domains
// are given out before anybody is anywhere, and now that the others are where they
// are, a machine that exists may do after all. It asks what kube-scheduler asks,
// one pod at a time.
func (s *settled) again() {
	if s.Company == nil || len(s.left) == 0 || len(s.Machines.List) == 0 {
		return
	}
	var groups []*demand.Group
	for _, g := range s.Groups {
		if len(s.left[g]) == 0 {
			continue
		}
		other := slices.ContainsFunc(g.Shape.Refused, func(r plan.Reason) bool { return r.Code != plan.TopologyNotSatisfiable })
		if len(s.ShapeOf(s.left[g][0]).Roles) > 0 && !other {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		return
	}
	ledgers := map[int]*topology.Ledger{}
	for i, l := range s.Company.Ledgers {
		ledgers[i] = topology.NewLedger(l.Rule)
	}
	s.count(ledgers, s.berths())
	found := false
	for progress := true; progress; {
		progress = false
		for _, g := range groups {
			for len(s.left[g]) > 0 && s.findRoom(g, ledgers) {
				progress, found = true, true
			}
		}
	}
	if found {
		s.recount()
	}
}

// findRoom places one pod of a group on the machine that has the fewest of the
// pods that spread it, and reports whether there is any.
func (s *settled) findRoom(g *demand.Group, ledgers map[int]*topology.Ledger) bool {
	pod := s.left[g][0]
	sh, alone, need := s.ShapeOf(pod), g.Shape.Alone(), s.NeedOf(pod)
	// DaemonSets' pods that are still to come are in no ledger.
	present, conflicts := s.Company.Tokens(sh.Roles)
	alone.Present, alone.Conflicts = slices.Concat(alone.Present, present), slices.Concat(alone.Conflicts, conflicts)
	best, fewest := -1, 0
	for i := range s.Machines.Accepting(sh).All() {
		if s.Machines.List[i].Load.Room(&alone, need, 1) == 0 || !s.welcome(sh, i, ledgers) {
			continue
		}
		load := 0
		for _, r := range sh.Roles {
			if l := ledgers[r.Rule]; r.Owns && l.Kind == topology.Spread {
				domain, _ := s.Machines.List[i].Domain(l.Key)
				load += l.Selected(l.At(domain))
			}
		}
		if best < 0 || load < fewest {
			best, fewest = i, load
		}
	}
	if best < 0 {
		return false
	}
	m := s.Machines.List[best]
	m.Load.Add(&alone, need, 1)
	for _, r := range sh.Roles {
		l := ledgers[r.Rule]
		if domain, ok := m.Domain(l.Key); ok && s.arranger.Counts(r.Rule, best, -1) {
			l.Record(l.At(domain), r.Part, 1)
		}
	}
	s.left[g] = s.left[g][1:]
	s.plan.Placements = append(s.plan.Placements, plan.Placement{Pod: pod, Node: m.Node})
	return true
}

// welcome reports whether the rules about company let a pod onto a machine.
func (s *settled) welcome(sh *demand.Shape, machine int, ledgers map[int]*topology.Ledger) bool {
	m := s.Machines.List[machine]
	return !slices.ContainsFunc(sh.Roles, func(r demand.Role) bool {
		l := ledgers[r.Rule]
		domain, ok := m.Domain(l.Key)
		if !ok {
			return r.Owns && l.Kind != topology.AntiAffinity || !m.Says(l.Key).Absent()
		}
		return !l.Open(l.At(domain), r.Part)
	})
}

// recount writes down who has no place now.
func (s *settled) recount() {
	maps.DeleteFunc(s.left, func(_ *demand.Group, pods []*snapshot.Pod) bool { return len(pods) == 0 })
	placed := map[*snapshot.Pod]bool{}
	for _, x := range s.plan.Placements {
		placed[x.Pod] = true
	}
	s.plan.Unplaced = slices.DeleteFunc(s.plan.Unplaced, func(u plan.Unplaced) bool { return placed[u.Pod] })
	sortPlan(s.plan)
}
