package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An operator taints new nodes until its agent works, and the pool does not declare
// that taint. After the third node the pool knows, says so, and launches no machine
// twice.
func TestAnUndeclaredStartupTaintCausesNoFurtherLaunchesOnceItIsKnown(t *testing.T) {
	t.Parallel()
	const taint = "node.cilium.io/agent-not-ready:NoSchedule"
	const pods = 20
	c := newCluster(t)
	c.manifests(class)
	c.millwright()
	log := c.watchClaims()
	green := start{annotations: sandboxed("join-taints", taint, "agent-taint", taint, "agent-delay", "4s")}.pool("green")
	// Nodes that nobody can use yet must live long enough to lose the taint.
	c.manifests(strings.Replace(green, "consolidateAfter: 1s", "consolidateAfter: 5m", 1))
	for i := range 3 { // one node after the other
		name := fmt.Sprint("first-", i)
		c.manifests(deployment(name, "green", 1, "100", "100Gi"))
		c.eventually(patience, c.running("app="+name, 1))
	}
	c.eventually(patience, func() error {
		np, err := c.dynamic.Resource(nodePools).Get(c.Context(), "green", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, cond := range conditionsOf(np) {
			if cond.kind == "UndeclaredStartupTaints" && strings.Contains(cond.message, "- {key: node.cilium.io/agent-not-ready, effect: NoSchedule}") {
				return nil
			}
		}
		return fmt.Errorf("the NodePool does not say what to declare: %v", conditionsOf(np))
	})
	before := len(log.of("green"))
	c.manifests(deployment("more", "green", pods, "100", "100Gi"))
	c.eventually(patience, c.running("app=more", pods))
	launched := len(log.of("green")) - before
	t.Logf("%d launches for the first 3 nodes; then %d for %d", before, launched, pods)
	if float64(launched) > 1.05*pods {
		t.Errorf("%d machines were launched for %d pods that need one each", launched, pods)
	}
}
