package arrange

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// planned stands for the machine of a bundle, whose name is not known.
const planned = "a new node"

// bundled handles affinity over nodes: a group goes where those are that it wants
// to be with, or all of it together to one machine.
func (a *Arranger) bundled(g *demand.Group) []*demand.Group {
	var own []demand.Role
	for _, r := range g.Shape.Roles {
		if l := a.Company.Ledgers[r.Rule]; l.PerNode() && l.Kind == topology.Affinity && r.Owns {
			own = append(own, r)
		}
	}
	if len(own) == 0 || len(g.Shape.Refused) > 0 {
		return []*demand.Group{g}
	}
	var there []string
	for i, r := range own {
		names := a.Company.Ledgers[r.Rule].Where()
		if i == 0 {
			there = names
		}
		there = slices.DeleteFunc(there, func(n string) bool { return !slices.Contains(names, n) })
	}
	l := a.Company.Ledgers[own[0].Rule]
	if len(there) > 0 {
		if slices.Contains(there, planned) {
			return []*demand.Group{a.refuse(g, demand.Unsatisfiable(l))}
		}
		return []*demand.Group{a.bindNodes(g, there)}
	}
	for _, r := range own {
		if a.awaited[r.Rule] {
			// Where those will be is not known before they are there.
			return []*demand.Group{a.refuse(g, plan.Reason{
				Code: plan.TopologyNotSatisfiable, Want: a.Company.Ledgers[r.Rule].String(), Have: "the pods that it is about are pending as well"})}
		}
	}
	return a.together(g, own)
}

func (a *Arranger) bindNodes(g *demand.Group, names []string) *demand.Group {
	roles := g.Shape.Roles
	out := a.bind(g, requirement.NewSet(requirement.Must(corev1.LabelHostname, requirement.In, names...)), g.Pods)
	sh := *out.Shape
	sh.Roles = slices.DeleteFunc(slices.Clone(roles), func(r demand.Role) bool { return a.Company.Ledgers[r.Rule].Kind == topology.Affinity })
	out.Shape = a.Intern(&sh)
	return out
}

// together makes one thing of as many pods as fit on one machine.
func (a *Arranger) together(g *demand.Group, own []demand.Role) []*demand.Group {
	l := a.Company.Ledgers[own[0].Rule]
	f := a.Family(g.Shape)
	most := 0
	for i := range a.Machines.Accepting(g.Shape).All() {
		most = max(most, a.Machines.List[i].Load.Room(&f, g.Need, len(g.Pods)))
	}
	launches := a.Market.Accepting(g.Shape)
	launches.And(a.Market.Available)
	for i := range launches.All() {
		load := a.Market.Empty(i)
		most = max(most, load.Room(&f, g.Need, len(g.Pods)))
	}
	if most == 0 {
		return []*demand.Group{g}
	}
	need := make([]int64, len(g.Need))
	vector.Add(need, g.Need, int64(most))
	out := []*demand.Group{{Shape: g.Shape, Need: need, Pods: g.Pods[:most:most], Bundle: most}}
	for _, r := range own {
		l := a.Company.Ledgers[r.Rule]
		l.Record(l.At(planned), r.Part, most)
	}
	if rest := g.Pods[most:]; len(rest) > 0 {
		out = append(out, a.refuse(&demand.Group{Shape: g.Shape, Need: g.Need, Pods: rest, Bundle: 1}, demand.Unsatisfiable(l)))
	}
	return out
}
