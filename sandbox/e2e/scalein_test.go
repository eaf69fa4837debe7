package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// By itself a ReplicaSet that scales from nine pods to six takes one from each of three machines,
// and none becomes empty. With Karpenter's gate one does, and goes, and no pod moves.
func TestAScaleInEmptiesOneMachineAfterTheOther(t *testing.T) {
	t.Parallel()
	const machines, each = 3, 3
	c := newCluster(t)
	c.manifests(c.admissionPolicy("settings.featureGates.podDeletionCostManagement=true"))
	c.manifests(class + "---" + disruptedPool("web", `consolidationPolicy: WhenEmpty, consolidateAfter: 1s, budgets: [{nodes: "100%"}]`, "",
		"{key: karpenter.k8s.aws/instance-cpu, operator: In, values: ['4']}") + binding("millwright-deletion-costs"))
	c.manifests(deployment("web", "web", machines*each, "1", "1Gi"))
	c.millwrightWith([]string{"FEATURE_GATES=PodDeletionCostManagement=true"})
	c.eventually(patience, c.running("app=web", machines*each))
	c.eventually(patience, func() error { return c.initialized(machines) })
	before := map[string]bool{}
	c.eventually(patience, func() error {
		costs := map[string]string{}
		for _, p := range c.pods("app=web") {
			before[p.Name] = true
			cost := p.Annotations[corev1.PodDeletionCost]
			if node := costs[cost]; cost == "" || node != "" && node != p.Spec.NodeName {
				return fmt.Errorf("pod %s on %s has deletion cost %q, and so have pods on %s", p.Name, p.Spec.NodeName, cost, node)
			}
			costs[cost] = p.Spec.NodeName
		}
		return nil
	})
	c.scale("web", (machines-1)*each)
	c.eventually(patience, func() error {
		if n := len(c.claims()); n != machines-1 {
			return fmt.Errorf("%d machines", n)
		}
		return nil
	})
	c.eventually(patience, c.running("app=web", (machines-1)*each))
	for _, p := range c.pods("app=web") {
		if !before[p.Name] {
			t.Errorf("pod %s is new", p.Name)
		}
	}
}
