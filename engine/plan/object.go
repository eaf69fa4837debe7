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

// PoolRef names a NodePool.
func PoolRef(name string) ObjectRef { return ObjectRef{Kind: "NodePool", Name: name} }

// ClaimRef names a NodeClaim.
func ClaimRef(name string) ObjectRef { return ObjectRef{Kind: "NodeClaim", Name: name} }

// NodeRef names a Node.
func NodeRef(name string) ObjectRef { return ObjectRef{Kind: "Node", Name: name} }

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
		out = append(out, NodeRef(n.Object.Name))
	}
	if n.Claim != nil {
		out = append(out, ClaimRef(n.Claim.Name))
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
