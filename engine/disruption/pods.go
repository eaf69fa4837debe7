package disruption

import (
	"time"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Reschedulable reports whether a pod would need another machine if its own went
// away: it is active, or it is terminating and its StatefulSet will make it
// again, and it belongs neither to a DaemonSet nor to the kubelet.
func Reschedulable(p *snapshot.Pod) bool {
	returns := p.Active() || !p.Terminal() && p.OfStatefulSet()
	return returns && !p.OfDaemonSet() && !p.Mirror()
}

// Evictable reports whether the removal of its machine would evict a pod.
func Evictable(p *snapshot.Pod, now time.Time) bool {
	_, protected := eviction.Protected(p.Pod, now)
	return p.Active() && !p.Mirror() && !protected && !eviction.Stays(p.Pod)
}
