package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const buffer = `
apiVersion: v1
kind: PodTemplate
metadata: {name: chunk, namespace: default}
template:
  spec:
    nodeSelector: {team: web}
    containers:
    - {name: main, image: example.com/chunk, resources: {requests: {cpu: "1", memory: "1Gi"}}}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: room, namespace: default}
spec: {podTemplateRef: {name: chunk}, replicas: 3}
`

var bufferKind = schema.GroupVersionResource{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Resource: "capacitybuffers"}

// Behind Karpenter's gate, a CapacityBuffer gets machines before there are pods, which stay though
// they are empty; pods run there at once, the room is made anew, and what the buffer no longer
// needs goes.
func TestABufferKeepsRoomForPodsToCome(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(class + "---" + pool("web", "arm64") + binding("millwright-capacity-buffers"))
	c.millwrightWith([]string{"FEATURE_GATES=CapacityBuffer=true"})
	exactly := func(n int) func() error {
		return func() error {
			if claims := len(c.claims()); claims != n {
				return fmt.Errorf("%d machines, want %d", claims, n)
			}
			return c.initialized(n)
		}
	}
	c.manifests(buffer)
	c.eventually(patience, func() error { return c.bufferSays("RequiresNewCapacity") })
	c.eventually(patience, func() error { return c.bufferSays("FitsExistingCapacity") })
	c.eventually(patience, exactly(1))
	first := c.claims()[0].GetName()
	c.eventually(patience, func() error { return c.claimSays(first, "capacitybuffer/room -n default") })
	c.throughout(15*time.Second, exactly(1))

	c.manifests(deployment("web", "web", 2, "1", "1Gi"))
	c.eventually(patience, c.running("app=web", 2))
	if nodes := c.nodesOf("app=web"); len(nodes) != 1 || c.nodeOf(first) != nodes[0] {
		t.Errorf("the pods run on %v, want %s, which was kept for them", nodes, c.nodeOf(first))
	}
	c.eventually(patience, exactly(2))
	c.eventually(patience, func() error { return c.bufferSays("FitsExistingCapacity") })

	c.must(c.dynamic.Resource(bufferKind).Namespace("default").Delete(c.Context(), "room", metav1.DeleteOptions{}))
	c.eventually(patience, exactly(1))
	c.eventually(patience, c.running("app=web", 2))
}

// Machines that never have room for the chunks that they are launched for are launched with pauses.
func TestABufferIsNotGivenOneMachineAfterTheOther(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(class + "---" + pool("web", "arm64") + binding("millwright-capacity-buffers"))
	c.millwrightWith([]string{"FEATURE_GATES=CapacityBuffer=true"})
	log := c.watchClaims()
	c.quarantine("web")
	c.manifests(buffer)
	c.eventually(patience, func() error { return c.poolSays("web", "MachinesUnused", "CapacityBuffer/default/room") })
	first := time.Now()
	c.throughout(time.Minute, func() error {
		if n := len(log.of("web")); n > 5 {
			return fmt.Errorf("%d machines after %s:\n%s", n, time.Since(first), log.tell("web"))
		}
		return nil
	})
	c.eventually(patience, func() error { return c.bufferSays("RequiresNewCapacity") })
}

// bufferSays checks the condition Provisioning of the buffer.
func (c *cluster) bufferSays(reason string) error {
	b, err := c.dynamic.Resource(bufferKind).Namespace("default").Get(c.Context(), "room", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if text := fmt.Sprint(b.Object["status"]); !strings.Contains(text, "reason:"+reason) {
		return fmt.Errorf("the buffer says %s, want %s", text, reason)
	}
	return nil
}

// claimSays checks why a machine is not disrupted.
func (c *cluster) claimSays(name, text string) error {
	for _, claim := range c.claims() {
		if claim.GetName() == name && slices.ContainsFunc(conditionsOf(&claim), func(x claimCondition) bool { return x.kind == "Disruptable" && strings.Contains(x.message, text) }) {
			return nil
		}
	}
	return fmt.Errorf("claim %s does not say %q", name, text)
}
