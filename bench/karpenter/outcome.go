package karpenter

import (
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	labels "sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/millwright-dev/millwright/bench"
)

func outcome(r scheduling.Results, cutOff bool) *bench.Outcome {
	out := &bench.Outcome{CutOff: cutOff}
	for _, claim := range r.NewNodeClaims {
		m, ok := Cheapest(claim)
		if !ok {
			continue // its pods show as unplaced
		}
		for _, p := range claim.Pods {
			m.Pods = append(m.Pods, p.UID)
		}
		out.Machines = append(out.Machines, m)
	}
	return out
}

// Cheapest is the claim as the cheapest available offering that it allows, the
// smaller name and zone first among equals.
func Cheapest(claim *scheduling.NodeClaim) (bench.Machine, bool) {
	best, found := bench.Machine{Pool: claim.NodePoolName}, false
	for _, it := range claim.InstanceTypeOptions {
		for _, o := range it.Offerings {
			if !allows(claim, o) || found && !before(it.Name, o, best) {
				continue
			}
			best.Type, best.Zone, best.CapacityType, best.Price = it.Name, o.Zone(), o.CapacityType(), o.Price
			found = true
		}
	}
	return best, found
}

func allows(claim *scheduling.NodeClaim, o *cloudprovider.Offering) bool {
	return o.Available && claim.Requirements.IsCompatible(o.Requirements, labels.AllowUndefinedWellKnownLabels)
}

func before(name string, o *cloudprovider.Offering, m bench.Machine) bool {
	switch {
	case o.Price != m.Price:
		return o.Price < m.Price
	case name != m.Type:
		return name < m.Type
	}
	return o.Zone() < m.Zone
}
