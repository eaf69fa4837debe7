package assign

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
)

// needFirst refuses groups that kube-scheduler never binds: the pods that they have to be near
// do not exist, or are pending as well and cannot be there before them, such as those of two
// groups that require each other. It binds a pod if its required affinity selects pods that are
// there, or the pod itself and none that is.
func (s *domains) needFirst() {
	comes := map[int]bool{} // the rules that select a pod that can be bound
	waiting := slices.Clone(s.Batch.Groups)
	for before := -1; len(waiting) != before; {
		before = len(waiting)
		waiting = slices.DeleteFunc(waiting, func(g *demand.Group) bool {
			if len(g.Shape.Refused) > 0 {
				return true
			}
			_, lacks := s.lacksFirst(g, comes)
			for _, r := range g.Shape.Memberships {
				comes[r.Rule] = comes[r.Rule] || r.Selected && !lacks
			}
			return !lacks
		})
	}
	for _, g := range waiting {
		rule, _ := s.lacksFirst(g, comes)
		l := s.PodTopology.Counts[rule]
		l.NoFirst = slices.ContainsFunc(waiting, func(o *demand.Group) bool { return o.Shape.Selected(rule) })
		s.Batch.Groups[slices.Index(s.Batch.Groups, g)] = s.refuse(g, g.Pods, demand.Unsatisfiable(l))
	}
}

// lacksFirst is a required affinity of a group that selects no pod that is there or comes,
// nor the group itself.
func (s *domains) lacksFirst(g *demand.Group, comes map[int]bool) (rule int, lacks bool) {
	for _, r := range g.Shape.Memberships {
		if l := s.PodTopology.Counts[r.Rule]; r.Declares && l.Kind == topology.Affinity && !r.Selected && !comes[r.Rule] && l.Anywhere() == 0 {
			return r.Rule, true
		}
	}
	return 0, false
}
