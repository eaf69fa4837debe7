package snapshot

import (
	"strconv"

	"github.com/millwright-dev/millwright/engine/eviction"
)

// MoveCost is what moving a machine's pods costs, in pods: 1 and, for each of them, 1
// with what its cost of disruption and its priority add or take, as Karpenter weighs them. To keep
// room elsewhere costs nothing.
func (n *Node) MoveCost() float64 {
	sum := 1.0
	for _, p := range n.Pods {
		if p.Buffer != nil || !eviction.Reschedulable(p.Pod) {
			continue
		}
		cost := 1 + disruptionCost(p.Annotations)/(1<<27) + float64(p.Class.Priority)/(1<<25)
		sum += max(0, min(cost, 10))
	}
	return sum
}

// disruptionCost is a pod's own, else what ReplicaSets choose by whom they can spare; zero if it
// cannot be read.
func disruptionCost(annotations map[string]string) float64 {
	text, ok := annotations["karpenter.sh/disruption-cost"]
	if !ok {
		text = annotations["controller.kubernetes.io/pod-deletion-cost"]
	}
	v, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return float64(v)
}
