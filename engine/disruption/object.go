package disruption

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func podRef(p *corev1.Pod) plan.ObjectRef {
	return plan.ObjectRef{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
}

func poolRef(p *snapshot.Pool) []plan.ObjectRef {
	return []plan.ObjectRef{{Kind: "NodePool", Name: p.Name}}
}

func dollars(price float64) string { return "$" + strconv.FormatFloat(price, 'f', 4, 64) + "/h" }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// refs names a machine: its Node, then its claim.
func refs(n *snapshot.Node) []plan.ObjectRef {
	var out []plan.ObjectRef
	if n.Object != nil {
		out = append(out, plan.ObjectRef{Kind: "Node", Name: n.Object.Name})
	}
	if n.Claim != nil {
		out = append(out, plan.ObjectRef{Kind: "NodeClaim", Name: n.Claim.Name})
	}
	return out
}
