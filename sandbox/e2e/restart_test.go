package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

// restartPolicy has the machines of a pool restarted for maintenance.
func restartPolicy(pool, how string) string {
	return fmt.Sprintf(`
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: %[1]s}
spec:
  nodePools: {names: [%[1]s]}
  interruption: {rules: [{events: [Maintenance], action: Restart, %[2]s}]}
`, pool, how)
}

// restarting finds a word in the record of a machine's restart, by its Node.
func (c *onEC2) restarting(node, word string) error {
	claim := c.instances()[node].Tags["karpenter.sh/nodeclaim"]
	for _, o := range c.claims() {
		if o.GetName() == claim {
			if record := o.GetAnnotations()[restart.Annotation]; !strings.Contains(record, word) {
				return fmt.Errorf("the record of %s is %q, without %q", claim, record, word)
			}
			return nil
		}
	}
	return fmt.Errorf("no claim %q of node %s", claim, node)
}

// calls counts the calls of an action.
func (c *onEC2) calls(action string) int {
	c.Helper()
	counts, err := c.aws.Calls(c.Context())
	c.must(err)
	return counts.Calls[action]
}

// called finds fault until an action has been called so often.
func (c *onEC2) called(action string, n int) error {
	if now := c.calls(action); now < n {
		return fmt.Errorf("%d calls of %s, want %d", now, action, n)
	}
	return nil
}

// launched counts the instances of a pool, those that have ended among them.
func (c *onEC2) launched(pool string) int {
	c.Helper()
	list, err := c.aws.Instances(c.Context())
	c.must(err)
	n := 0
	for _, i := range list {
		if i.Tags["karpenter.sh/nodepool"] == pool {
			n++
		}
	}
	return n
}

// An instance for which maintenance is announced is stopped and started before EC2 does: Node,
// claim, instance and volume are the same afterwards, also if the controller dies in between,
// and nothing takes its own stop for an interruption. An empty machine is restarted as any
// other; one that EC2 cannot start again in time is replaced, and a spot machine at once.
func TestARestartKeepsInstanceNodeAndVolumes(t *testing.T) {
	t.Parallel()
	c := newOnEC2(t, "--node-failure-fast")
	controller := c.controller()
	for name, how := range map[string]string{"db": "restartPods: Keep", "web": "restartPods: Evict", "cheap": "leadTime: 1h"} {
		capacityType := "on-demand"
		if name == "cheap" {
			capacityType = "spot"
		}
		c.manifests(restartPolicy(name, how) + "---" + ec2Class(name, "amiSelectorTerms: [{alias: al2023@latest}]") + "---" + ec2Pool(name, capacityType))
	}
	c.manifests(statefulSet("db", 1) + "---" + deployment("web", "web", 1, "1", "1Gi") + "---" + deployment("cheap", "cheap", 1, "1", "1Gi"))
	for _, app := range []string{"db", "web", "cheap"} {
		c.eventually(patience, c.running("app="+app, 1))
	}
	before, instance, volume := c.nodeOf("db"), c.instances()[c.nodeOf("db").Name], c.volumeOf("data-db-0")

	c.must(c.aws.Maintain(c.Context(), aws.Maintenance{Instance: instance.ID, Code: interruption.Stop, In: 24 * time.Hour}))
	c.eventually(patience, func() error { return c.called("ec2:StopInstances", 1) })
	controller.Kill()
	c.controller()
	c.eventually(patience, func() error { return c.restarting(before.Name, `"done"`) })
	c.eventually(patience, c.running("app=db", 1))
	c.eventually(patience, func() error {
		after := c.nodeOf("db")
		if len(after.Spec.Taints) > 0 || after.Status.NodeInfo.BootID == before.Status.NodeInfo.BootID {
			return fmt.Errorf("taints %v, boot %s", after.Spec.Taints, after.Status.NodeInfo.BootID)
		}
		return nil
	})
	after, now := c.nodeOf("db"), c.instances()[before.Name]
	if after.UID != before.UID || now.ID != instance.ID || !now.Launched.After(instance.Launched) || c.volumeOf("data-db-0") != volume {
		c.Errorf("node %s, instance %+v, volume %s; they were %s, %+v, %s", after.UID, now, c.volumeOf("data-db-0"), before.UID, instance, volume)
	}
	if n := c.launched("db"); n != 1 {
		c.Errorf("%d instances were launched for the one that was restarted", n)
	}

	c.eventually(patience, c.running("app=web", 1))
	web, started := c.nodeOf("web"), c.calls("ec2:StartInstances")
	c.must(c.aws.SetCapacity(c.Context(), aws.Capacity{Pattern: c.instances()[web.Name].Type, Most: 0}))
	c.must(c.aws.Maintain(c.Context(), aws.Maintenance{Instance: c.instances()[web.Name].ID, Code: interruption.Stop, In: 24 * time.Hour}))
	c.eventually(patience, func() error { return c.called("ec2:StartInstances", started+1) })
	c.manifests(restartPolicy("web", "restartTimeout: 1s"))
	c.eventually(patience, func() error { return c.without(web.Name) })
	c.eventually(patience, c.running("app=web", 1))

	cheap := c.nodeOf("cheap")
	c.must(c.aws.Maintain(c.Context(), aws.Maintenance{Instance: c.instances()[cheap.Name].ID, Code: interruption.Stop, In: time.Hour}))
	c.eventually(patience, func() error { return c.without(cheap.Name) })
	c.eventually(patience, c.running("app=cheap", 1))
	if c.nodeOf("db").UID != before.UID {
		c.Errorf("the machine that was restarted is gone")
	}
}

// volumeOf is what a PersistentVolumeClaim is bound to.
func (c *onEC2) volumeOf(claim string) string {
	c.Helper()
	pvc, err := c.client.CoreV1().PersistentVolumeClaims("default").Get(c.Context(), claim, metav1.GetOptions{})
	c.must(err)
	if pvc.Status.Phase != corev1.ClaimBound {
		c.Errorf("%s is %s", claim, pvc.Status.Phase)
	}
	return pvc.Spec.VolumeName
}
