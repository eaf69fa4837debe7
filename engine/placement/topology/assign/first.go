package assign

import (
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
)

// needFirst refuses groups that kube-scheduler never binds: the pods that they have to be near
// do not exist, or are pending as well and cannot be there before them, such as those of two
// groups that require each other. It binds a pod if its required affinity selects pods that are
// there, or the pod itself and none that is.
func (c *colocation) needFirst() {
	comes := map[int]bool{} // the rules that select a pod that can be bound
	var waiting []int
	for i, g := range c.Batch.Groups {
		if len(g.Shape.Refused) == 0 {
			waiting = append(waiting, i)
		}
	}
	for before := -1; len(waiting) != before; {
		before = len(waiting)
		var left []int
		for _, i := range waiting {
			g := c.Batch.Groups[i]
			if _, lacks := c.lacksFirst(g, comes); lacks {
				left = append(left, i)
				continue
			}
			for _, r := range g.Shape.Memberships {
				comes[r.Rule] = comes[r.Rule] || r.Selected
			}
		}
		waiting = left
	}
	pending := map[int]bool{}
	for _, i := range waiting {
		for _, r := range c.Batch.Groups[i].Shape.Memberships {
			pending[r.Rule] = pending[r.Rule] || r.Selected
		}
	}
	for _, i := range waiting {
		g := c.Batch.Groups[i]
		rule, _ := c.lacksFirst(g, comes)
		l := c.PodTopology.Counts[rule]
		l.NoFirst = pending[rule]
		c.Batch.Groups[i] = c.refuse(g, g.Pods, demand.Unsatisfiable(l))
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
