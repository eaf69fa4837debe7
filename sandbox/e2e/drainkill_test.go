package e2e

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The controller is killed again and again while it takes a node with databases
// away: once the Node is to go, once pods have begun to leave, while volumes are
// being detached, and while the machine is being ended. Nothing is lost by it.
// Every single write is cut off in controllers/termination; this shows the same
// on a real API server.
func TestKillingTheControllerInTheMiddleOfADrainLosesNothing(t *testing.T) {
	if !*long {
		t.Skip("takes minutes; go test ./e2e -run MiddleOfADrain -long")
	}
	t.Parallel()
	c := newCluster(t, "--set", "detach-delay=5s")
	controller := c.millwright()
	books := c.audit()
	c.manifests(class + "---" + nodePlugin("- {key: example.com/other, operator: Exists}") + "---" + databasePool("first", "") + "---" + databases("1500m"))
	c.eventually(patience, c.running("app=db", replicas))
	node := c.nodesOf("app=db")[0]
	stages := []func() error{
		func() error {
			if c.nodes()[node].DeletionTimestamp == nil {
				return fmt.Errorf("nobody has asked for the removal of the Node")
			}
			return nil
		},
		func() error { return c.hasCondition(node, "Drained") },
		func() error { return c.hasCondition(node, "VolumesDetached") },
		func() error { return c.hasCondition(node, "InstanceTerminating") },
	}
	c.must(c.dynamic.Resource(nodeClaims).Delete(t.Context(), node, metav1.DeleteOptions{}))
	for _, reached := range stages {
		c.eventually(patience, reached)
		controller.Kill()
		controller = c.millwright() // it waits for the lease of the one before
	}
	c.eventually(patience, func() error { return c.without(node) })
	c.eventually(patience, c.running("app=db", replicas))
	c.eventually(patience, c.accountedFor)
	c.eventually(patience, c.pluginsAreWhereNodesAre)
	books.close()
}

// hasCondition finds fault while a claim that exists lacks a condition.
func (c *cluster) hasCondition(claim, name string) error {
	for _, obj := range c.claims() {
		if obj.GetName() != claim {
			continue
		}
		conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
		if err != nil {
			return err
		}
		for _, x := range conditions {
			if x, ok := x.(map[string]any); ok && x["type"] == name {
				return nil
			}
		}
		return fmt.Errorf("claim %s has no condition %s", claim, name)
	}
	return nil
}
