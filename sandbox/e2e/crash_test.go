package e2e

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The controller is killed again and again while it launches twenty machines
// and again while it removes them, each time when so many claims, machines or
// Nodes are there. In the end there is exactly one machine for each claim, no
// machine without one, and no taint of ours on a node that stays.
func TestKillingTheControllerLosesNothingAndLeaksNoMachine(t *testing.T) {
	t.Parallel()
	const size = 20
	c := newCluster(t)
	random := random(t)
	controller := c.millwright()
	c.manifests(class + "---" + pool("blue", "amd64"))
	c.manifests(spread("web", size))
	for _, count := range c.stages() {
		least := 1 + random.IntN(size-1)
		c.eventually(patience, func() error {
			if n := count(); n < least {
				return fmt.Errorf("%d of %d", n, least)
			}
			return nil
		})
		controller.Kill()
		controller = c.millwright()
	}
	c.eventually(patience, c.running("app=web", size))
	c.eventually(patience, c.accountedFor)

	c.scale("web", 0)
	for _, count := range c.stages() {
		most := random.IntN(size)
		c.eventually(patience, func() error {
			if n := count(); n > most {
				return fmt.Errorf("still %d, waiting for %d", n, most)
			}
			return nil
		})
		controller.Kill()
		controller = c.millwright()
	}
	c.eventually(patience, func() error {
		if n := len(c.claims()) + len(c.nodes()) + len(c.machines()); n != 0 {
			return fmt.Errorf("%d claims, %d nodes and %d machines are left", len(c.claims()), len(c.nodes()), len(c.machines()))
		}
		return nil
	})
}

// stages count what appears on the way to a running machine, in that order.
func (c *cluster) stages() []func() int {
	return []func() int{
		func() int { return len(c.claims()) },
		func() int { return len(c.machines()) },
		func() int { return len(c.nodes()) },
	}
}

// spread is a Deployment whose pods are so large that each needs a machine of
// its own.
func spread(name string, replicas int) string {
	return deployment(name, "blue", replicas, "100", "100Gi")
}

func (c *cluster) scale(name string, replicas int32) {
	c.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := c.client.AppsV1().Deployments("default").Patch(c.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	c.must(err)
}

// accountedFor finds fault unless claims, nodes and machines match one to one, no node
// carries a taint of a step that is over, and it is said of every machine that works why
// it stays or goes.
func (c *cluster) accountedFor() error {
	claims, nodes, machines := c.claims(), c.nodes(), c.machines()
	if len(claims) != len(nodes) || len(claims) != len(machines) {
		return fmt.Errorf("%d claims, %d nodes, %d machines", len(claims), len(nodes), len(machines))
	}
	for _, claim := range claims {
		if _, ok := nodes[claim.GetName()]; !ok {
			return fmt.Errorf("claim %s has no node", claim.GetName())
		}
		judged := slices.ContainsFunc(conditionsOf(&claim), func(c claimCondition) bool { return c.kind == "Disruptable" && c.reason != "" })
		if condition(&claim, "Initialized") && claim.GetDeletionTimestamp() == nil && !judged {
			return fmt.Errorf("claim %s has no verdict", claim.GetName())
		}
	}
	for _, n := range nodes {
		for _, taint := range n.Spec.Taints {
			if taint.Key == "karpenter.sh/unregistered" || taint.Key == "karpenter.sh/disrupted" {
				return fmt.Errorf("node %s still has the taint %s", n.Name, taint.Key)
			}
		}
		if n.Labels[corev1.LabelInstanceTypeStable] == "" {
			return fmt.Errorf("node %s has no instance type", n.Name)
		}
	}
	return nil
}
