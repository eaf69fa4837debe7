package disruption

import (
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func poolRef(p *snapshot.Pool) []plan.ObjectRef {
	return []plan.ObjectRef{{Kind: "NodePool", Name: p.Name}}
}

// fitsNowhere is why a machine stays, one of whose pods has no other place.
func fitsNowhere(p *snapshot.Pod, n *snapshot.Node) plan.Reason {
	return plan.Reason{Code: plan.PodFitsNowhere, Objects: append([]plan.ObjectRef{plan.PodRef(p.Pod)}, plan.MachineRefs(n)...)}
}

func dollars(price float64) string { return plan.Dollars(price) + "/h" }
