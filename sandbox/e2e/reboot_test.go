package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A machine whose reboot is requested is emptied and rebooted where it is, also by a controller that is
// killed when EC2 has been told; its pods run there again.
func TestARebootKeepsInstanceAndNode(t *testing.T) {
	t.Parallel()
	c := newOnEC2(t)
	controller := c.controller()
	c.manifests(ec2Class("web", "amiSelectorTerms: [{alias: al2023@latest}]") + "---" + ec2Pool("web", "on-demand") + "---" + deployment("web", "web", 1, "1", "1Gi"))
	c.eventually(patience, c.running("app=web", 1))
	c.eventually(patience, func() error { return c.working("web", 1) })
	before := c.nodeOf("web")
	instance, claim := c.instances()[before.Name], c.claimOf("web")

	c.requestReboot(claim)
	c.eventually(patience, func() error { return c.called("ec2:RebootInstances", 1) })
	controller.Kill()
	c.controller()
	c.eventually(patience, func() error {
		after := c.nodeOf("web")
		if len(after.Spec.Taints) > 0 || after.Status.NodeInfo.BootID == before.Status.NodeInfo.BootID {
			return fmt.Errorf("taints %v, boot %s", after.Spec.Taints, after.Status.NodeInfo.BootID)
		}
		return c.working("web", 1)
	})
	c.eventually(patience, c.running("app=web", 1))
	if after, n := c.nodeOf("web"), c.launched("web"); after.UID != before.UID || c.instances()[after.Name].ID != instance.ID || n != 1 {
		c.Errorf("node %s, instance %s, %d launched; they were %s, %s, 1", after.UID, c.instances()[after.Name].ID, n, before.UID, instance.ID)
	}
}

// requestReboot requests the reboot of a claim's machine, as repair does.
func (c *onEC2) requestReboot(claim string) {
	c.Helper()
	patch := func(text string, what ...string) {
		c.Helper()
		_, err := c.dynamic.Resource(nodeClaims).Patch(c.Context(), claim, types.MergePatchType, []byte(text), metav1.PatchOptions{}, what...)
		c.must(err)
	}
	patch(`{"metadata":{"annotations":{"karpenter.sh/reboot-termination-grace-period":"30s"}}}`)
	object, err := c.dynamic.Resource(nodeClaims).Get(c.Context(), claim, metav1.GetOptions{})
	c.must(err)
	status := object.Object["status"].(map[string]any)
	text, err := json.Marshal(append(status["conditions"].([]any), map[string]any{
		"type": "Rebooting", "status": "True", "reason": "RebootRequested", "message": "a test", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}))
	c.must(err)
	patch(`{"status":{"conditions":`+string(text)+`}}`, "status")
}
