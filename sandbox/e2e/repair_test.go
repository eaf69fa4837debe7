package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A machine that is not Ready, and one whose agent keeps crashing, are replaced, and
// their replacements work before they go. A pool without a policy keeps what it has.
// When all machines break at once nothing is done but told, until they are well.
func TestBrokenMachinesAreReplacedUnlessTheyBreakTogether(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(class + "---" + agent)
	c.millwright()
	policies := map[string]string{
		"web":   "action: Replace, conditions: [{type: Ready, status: \"False\", toleration: 10s}, {type: NetworkingReady, status: \"False\", toleration: 10s}], breaker: {maxUnhealthy: 100%}",
		"batch": "action: Replace, agents: [{namespace: default, name: agent, restarts: 5, toleration: 10s}]",
		"plain": "",
	}
	pods := map[string]int{"web": 3, "batch": 1, "plain": 1}
	for team, policy := range policies {
		c.manifests(teamPool(team, "amd64", "") + "---" + deployment(team, team, pods[team], "100", "100Gi"))
		if policy != "" {
			c.manifests(nodePolicy(team, "repair", policy))
		}
	}
	for team, n := range pods {
		c.eventually(patience, c.running("app="+team, n))
		c.eventually(patience, func() error { return c.working(team, n) })
	}

	unready, crashing, left := c.claimOf("web"), c.claimOf("batch"), c.claimOf("plain")
	c.annotate(unready, "ready-delay", "1h")
	c.annotate(left, "agent-crash", "7")
	c.annotate(left, "ready-delay", "1h")
	c.replacedFirst("web", unready, 3)
	c.annotate(crashing, "agent-crash", "7")
	c.replacedFirst("batch", crashing, 1)
	if _, ok := c.nodes()[left]; !ok {
		t.Errorf("node %s of a pool without a policy was repaired", left)
	}

	c.eventually(patience, func() error { return c.working("web", 3) })
	before := fmt.Sprint(c.claimsOf("web"))
	c.inject("node-condition", "NetworkingReady=False")
	c.eventually(patience, func() error { return c.poolSays("web", "RepairBlocked", "") })
	c.throughout(20*time.Second, func() error {
		if now := fmt.Sprint(c.claimsOf("web")); now != before {
			return fmt.Errorf("the claims are %s, were %s, although all are broken", now, before)
		}
		return c.poolSays("web", "RepairBlocked", "not the node's own")
	})
	c.eventually(patience, func() error { return c.eventAbout("NodeRepairBlocked", c.claimsOf("web")[0]) })
	c.inject("node-condition", "--clear")
	c.eventually(patience, func() error {
		if err := c.poolSays("web", "RepairBlocked", ""); err == nil {
			return fmt.Errorf("the breaker is still open")
		}
		return c.running("app=web", 3)()
	})
	if now := fmt.Sprint(c.claimsOf("web")); now != before {
		t.Errorf("the claims are %s, were %s, although all are well again", now, before)
	}
}

// annotate scripts a node.
func (c *cluster) annotate(node, knob, value string) {
	c.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"sandbox.millwright.dev/%s":%q}}}`, knob, value)
	_, err := c.client.CoreV1().Nodes().Patch(c.Context(), node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
}

// claimsOf are the names of a pool's claims, in order.
func (c *cluster) claimsOf(pool string) []string {
	c.Helper()
	var out []string
	for _, claim := range c.claims() {
		if claim.GetLabels()["karpenter.sh/nodepool"] == pool {
			out = append(out, claim.GetName())
		}
	}
	return out
}

func (c *cluster) claimOf(pool string) string {
	c.Helper()
	return c.claimsOf(pool)[0]
}

// working finds fault unless the pool has n claims and all are ready for work.
func (c *cluster) working(pool string, n int) error {
	c.Helper()
	ready, all := 0, 0
	for _, claim := range c.claims() {
		if claim.GetLabels()["karpenter.sh/nodepool"] == pool {
			all++
			if condition(&claim, "Initialized") && claim.GetDeletionTimestamp() == nil {
				ready++
			}
		}
	}
	if ready != n || all != n {
		return fmt.Errorf("%d of %d machines of %s work, want %d", ready, all, pool, n)
	}
	return nil
}

// replacedFirst waits until a broken machine is going, and checks that it does not go
// before n others of its pool work.
func (c *cluster) replacedFirst(pool, broken string, n int) {
	c.Helper()
	said := ""
	c.eventually(patience, func() error {
		ready, there := 0, false
		for _, claim := range c.claims() {
			switch {
			case claim.GetLabels()["karpenter.sh/nodepool"] != pool:
			case claim.GetName() != broken:
				if condition(&claim, "Initialized") {
					ready++
				}
			default:
				there = claim.GetDeletionTimestamp() == nil
				for _, cond := range conditionsOf(&claim) {
					if cond.kind == "Unhealthy" && cond.status == "True" {
						said = cond.reason + ": " + cond.message
					}
				}
			}
		}
		switch {
		case there:
			return fmt.Errorf("%s is there, %d others work; it says %q", broken, ready, said)
		case ready < n:
			c.Fatalf("%s goes while %d others work, want %d", broken, ready, n)
		}
		return c.running("app="+pool, n)()
	})
	if !strings.Contains(said, "RepairDue") {
		c.Errorf("%s said at last that it is %q", broken, said)
	}
	c.Logf("%s: %s", broken, said)
}
