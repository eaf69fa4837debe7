package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// overlays make m7g.2xlarge cost less than what would be bought, and give r7g.xlarge slots.
const overlays = `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: committed}
spec:
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m7g.2xlarge]}]
  priceAdjustment: "-95%"
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: slots}
spec:
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [r7g.xlarge]}, {key: team, operator: In, values: [web]}]
  capacity: {example.com/slots: "2"}
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: against-committed}
spec:
  requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m7g]}]
  price: "0.5"
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: of-known-resource}
spec:
  requirements: [{key: team, operator: Exists}]
  capacity: {vpc.amazonaws.com/pod-eni: "1"}
`

// Behind Karpenter's gate, NodeOverlays change what is bought and what fits; those that contradict
// others, or that mean nothing, say so and do nothing.
func TestOverlaysChangePricesAndResources(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(class + "---" + pool("web", "arm64"))
	c.millwrightWith([]string{"FEATURE_GATES=NodeOverlay=true"})
	slots := strings.ReplaceAll(deployment("slots", "web", 3, "250m", "256Mi"), `memory: "256Mi"}`, `memory: "256Mi", example.com/slots: "1"}, limits: {example.com/slots: "1"}`)
	c.manifests(slots)
	c.eventually(patience, func() error { return c.eventSays("FailedScheduling", "no machine has any example.com/slots") })
	c.manifests(overlays)
	for name, want := range map[string]string{
		"committed": "True", "slots": "True",
		"against-committed": "NodeOverlay committed has the same weight", "of-known-resource": "vpc.amazonaws.com/pod-eni in resource, restricted",
	} {
		c.eventually(patience, func() error { return c.overlaySays(name, want) })
	}
	c.manifests(deployment("web", "web", 1, "5", "1Gi"))
	c.eventually(patience, c.running("app=web", 1))
	c.eventually(patience, c.running("app=slots", 3))
	types := map[string]int{}
	for _, n := range c.nodes() {
		types[n.Labels["node.kubernetes.io/instance-type"]]++
	}
	if fmt.Sprint(types) != "map[m7g.2xlarge:1 r7g.xlarge:2]" {
		t.Errorf("machines are %v", types)
	}
}

// overlaySays checks the condition ValidationSucceeded of an overlay: its status, or its message.
func (c *cluster) overlaySays(name, want string) error {
	kind := schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1alpha1", Resource: "nodeoverlays"}
	o, err := c.dynamic.Resource(kind).Get(c.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if text := fmt.Sprint(o.Object["status"]); !strings.Contains(text, want) {
		return fmt.Errorf("NodeOverlay %s: %s, want %s", name, text, want)
	}
	return nil
}
