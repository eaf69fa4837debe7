package offline

import (
	"fmt"
	"maps"
	"slices"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/provision"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/static"
)

// scaledDown is the cause of removals from a pool that has more machines than replicas.
const scaledDown = "ScaledDown"

// Staffing is what static pools lack and what they have too many of.
type Staffing struct {
	// launched are by the names of the claims that were put into the store for them.
	launched map[string]*plan.NewNode
	names    []string
	removed  []plan.Disruption
}

// Staff puts the machines that static pools lack into the store, as claims in flight, so
// that pods can be planned onto them.
func Staff(store *cluster.Store, s *snapshot.Snapshot, objects []manifest.Object) Staffing {
	out := Staffing{launched: map[string]*plan.NewNode{}}
	ledger, standIn := limit.New(s), disruption.Replacing(s)
	for _, o := range objects {
		np, ok := o.Object.(*karpv1.NodePool)
		if !ok || np.Spec.Replicas == nil {
			continue
		}
		pool := s.Pool(np.Name)
		if pool == nil {
			continue
		}
		launch, remove, _ := static.Staff(s, pool, standIn, ledger)
		for i := range launch {
			claim := provision.Claim(np, &launch[i])
			claim.Name = fmt.Sprintf("%s-new-%d", np.Name, i+1)
			maps.Copy(claim.Labels, launch[i].Choice.Labels())
			claim.Status.Capacity, claim.Status.Allocatable = launch[i].Choice.Type.Capacity, launch[i].Choice.Type.Allocatable()
			claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
			store.Update(claim)
			out.launched[claim.Name] = &launch[i]
			out.names = append(out.names, claim.Name)
		}
		if len(remove) > 0 {
			d := plan.Disruption{Cause: scaledDown}
			for _, n := range remove {
				d.Nodes = append(d.Nodes, n.Name)
				d.Saving += disruption.Price(pool, n)
			}
			out.removed = append(out.removed, d)
		}
	}
	return out
}

// Report tells the plan of the machines: pods that it put onto those in flight are theirs,
// and their price is in the bound, because it is spent whatever the pods.
func (st Staffing) Report(p *plan.Plan) {
	p.Placements = slices.DeleteFunc(p.Placements, func(at plan.Placement) bool {
		if at.Node.Claim == nil || st.launched[at.Node.Claim.Name] == nil {
			return false
		}
		n := st.launched[at.Node.Claim.Name]
		n.Pods = append(n.Pods, at.Pod)
		return true
	})
	var fixed []plan.NewNode
	for _, name := range st.names {
		n := st.launched[name]
		fixed = append(fixed, *n)
		p.LowerBound += n.Choice.Offering.Price
	}
	p.NewNodes = append(fixed, p.NewNodes...)
	for _, d := range st.removed {
		p.Stays = slices.DeleteFunc(p.Stays, func(stay plan.Stay) bool { return slices.Contains(d.Nodes, stay.Node) })
	}
	p.Disruptions = append(st.removed, p.Disruptions...)
}
