package snapshot

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
)

// Pod is Kubernetes' own pod, read-only, with its equivalence class.
type Pod struct {
	*corev1.Pod
	Class *Class
	// Buffer is what the pod stands for a chunk of; nil for a pod that exists or is expected.
	Buffer *Buffer
	// created is what the pod asked for when it was created, nil if that is not known, and next the
	// class of the one that comes in its place if that will ask for more.
	created Amounts
	next    *Class
}

// Terminal reports whether the pod has ended and only its object is left.
func (p *Pod) Terminal() bool { return eviction.Terminal(p.Pod) }

// Active reports whether the pod has neither ended nor been told to.
func (p *Pod) Active() bool { return !p.Terminal() && !eviction.Terminating(p.Pod) }

// OfDaemonSet reports whether the pod comes and goes with its node.
func (p *Pod) OfDaemonSet() bool { return eviction.Daemon(p.Pod) }

// Mirror reports whether the pod is the image of one that a kubelet runs by
// itself.
func (p *Pod) Mirror() bool { return eviction.Mirror(p.Pod) }

// ComparePods orders pods by namespace, name and UID.
func ComparePods(a, b *Pod) int {
	if a.Namespace != b.Namespace {
		return strings.Compare(a.Namespace, b.Namespace)
	}
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return cmp.Compare(a.UID, b.UID)
}
