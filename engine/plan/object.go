package plan

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// ObjectRef names a Kubernetes object. Namespace is empty for cluster-scoped
// ones.
type ObjectRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// PodRef names a pod.
func PodRef(p *corev1.Pod) ObjectRef {
	return ObjectRef{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
}

// RefOf names a pod, or the buffer that it stands for a chunk of.
func RefOf(p *snapshot.Pod) ObjectRef {
	if b := p.Buffer; b != nil {
		return ObjectRef{Kind: "CapacityBuffer", Namespace: b.Namespace, Name: b.Name}
	}
	return PodRef(p.Pod)
}

// MachineRefs name a machine: its Node, then its claim, as far as there are both.
func MachineRefs(n *snapshot.Node) []ObjectRef {
	var out []ObjectRef
	if n.Object != nil {
		out = append(out, ObjectRef{Kind: "Node", Name: n.Object.Name})
	}
	if n.Claim != nil {
		out = append(out, ObjectRef{Kind: "NodeClaim", Name: n.Claim.Name})
	}
	return out
}

// String is what kubectl takes: "kind/name", and "kind/name -n namespace" where there
// is one.
func (o ObjectRef) String() string {
	text := strings.ToLower(o.Kind) + "/" + o.Name
	if o.Namespace != "" {
		text += " -n " + o.Namespace
	}
	return text
}
