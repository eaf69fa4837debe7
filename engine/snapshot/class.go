package snapshot

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/requirement"
)

// Class is everything about a pod that placement can see. Pods of one class are
// interchangeable: ten thousand identical pods are one class and a count.
type Class struct {
	// Key is equal for pods of the same class and only for them.
	Key string
	// Requests are what the pod asks of a node at its peak, with init and sidecar
	// containers and overhead, and one unit of "pods".
	Requests corev1.ResourceList
	// Terms are the alternatives of nodeSelector and required node affinity: a
	// node must satisfy one of them. Never empty; a pod without constraints has
	// one empty term.
	Terms []requirement.Set
	// Tolerations, and HostPorts, as in the pod's spec.
	Tolerations []corev1.Toleration
	HostPorts   []HostPort
	// Invalid says why the pod's constraints cannot be understood; empty if they
	// can.
	Invalid string
}

// HostPort is a port that a pod takes on its node. An empty IP is all of them.
type HostPort struct {
	IP       string
	Port     int32
	Protocol corev1.Protocol
}

// Classes hands out the class of each pod and keeps one value per class. It is
// not safe for concurrent use.
type Classes struct {
	byKey map[string]*Class
}

// Pod wraps a pod with its class.
func (c *Classes) Pod(pod *corev1.Pod) *Pod {
	panic("written with placement")
}
