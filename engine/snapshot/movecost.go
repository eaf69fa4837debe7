package snapshot

import (
	"strconv"

	"github.com/millwright-dev/millwright/engine/eviction"
)

// MoveCost is what moving a machine's pods costs, in pods: 1 and, for each of them, 1
// with what pod-deletion-cost and priority add or take, as Karpenter weighs them. To keep room
// elsewhere costs nothing.
func (n *Node) MoveCost() float64 {
	sum := 1.0
	for _, p := range n.Pods {
		if p.Buffer != nil || !eviction.Reschedulable(p.Pod) {
			continue
		}
		cost := 1.0
		if v, err := strconv.ParseFloat(p.Annotations["controller.kubernetes.io/pod-deletion-cost"], 64); err == nil {
			cost += v / (1 << 27)
		}
		cost += float64(p.Class.Priority) / (1 << 25)
		sum += max(0, min(cost, 10))
	}
	return sum
}
