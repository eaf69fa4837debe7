package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// outcome is what has become of a machine.
type outcome string

const (
	untouched outcome = "untouched" // no event, condition, taint or deletion
	told      outcome = "told"
	cordoned  outcome = "cordoned"
	gone      outcome = "gone"
)

// row is one case: a pool of one machine, its policy, an event, and what comes
// of it. Times are relative to the announcement.
type row struct {
	name, rules string // rules as in the policy; empty is no policy
	kind, code  string
	in          time.Duration
	state       string
	want        outcome
}

// shut is a window that is not open now, on whatever day the test runs.
func shut() string {
	day := time.Now().UTC().AddDate(0, 0, 3).Weekday()
	return fmt.Sprintf(`windows: [{schedule: "0 2 * * %d", duration: 2h}]`, day)
}

const (
	fortnight = 14 * 24 * time.Hour
	all       = "SpotInterruption, Maintenance, InstanceStopped, SystemImpaired, RebalanceRecommendation"
)

func rows() []row {
	ignore, notify, cordon := "[{events: ["+all+"], action: Ignore}]", "[{events: ["+all+"], action: Notify}]", "[{events: ["+all+"], action: Cordon}]"
	window := "[{events: [Maintenance], action: Drain, " + shut() + "}]"
	return []row{
		{"plain-spot", "", "SpotInterruption", "", 2 * time.Minute, "", gone},
		{"plain-stop", "", "Maintenance", "Stop", fortnight, "", gone},
		{"plain-reservation", "", "ReservationInterruption", "", time.Hour, "", gone},
		{"plain-stopped", "", "InstanceStopped", "", time.Hour, "", gone},
		{"plain-terminated", "", "InstanceTerminated", "", time.Hour, "", gone},
		{"plain-system", "", "SystemImpaired", "", 0, "", gone},
		{"plain-instance", "", "InstanceImpaired", "", 0, "", gone},
		{"plain-rebalance", "", "RebalanceRecommendation", "", 0, "", told},
		{"plain-volume", "", "VolumeImpaired", "", 0, "", untouched},
		{"plain-completed", "", "Maintenance", "Stop", fortnight, "Completed", untouched},
		{"plain-cancelled", "", "Maintenance", "Reboot", fortnight, "Cancelled", untouched},

		{"ignore-spot", ignore, "SpotInterruption", "", time.Hour, "", untouched},
		{"ignore-stop", ignore, "Maintenance", "Stop", time.Hour, "", untouched},
		{"ignore-stopped", ignore, "InstanceStopped", "", time.Hour, "", untouched},
		{"ignore-system", ignore, "SystemImpaired", "", 0, "", untouched},
		{"notify-stop", notify, "Maintenance", "Retirement", time.Hour, "", told},
		{"notify-system", notify, "SystemImpaired", "", 0, "", told},
		{"cordon-reboot", cordon, "Maintenance", "Reboot", time.Hour, "", cordoned},
		{"cordon-rebalance", cordon, "RebalanceRecommendation", "", 0, "", cordoned},
		{"window-stop", window, "Maintenance", "Stop", fortnight, "", told},
		{"window-late", window, "Maintenance", "Stop", 20 * time.Minute, "", gone},
		{"window-leave", "[{events: [Maintenance], action: Drain, whenTooLate: Leave, " + shut() + "}]", "Maintenance", "Reboot", time.Hour, "", told},
		{"lead-stop", "[{events: [Maintenance], action: Drain, leadTime: 48h}]", "Maintenance", "Stop", fortnight, "", told},
		{"lead-soon", "[{events: [Maintenance], action: Drain, leadTime: 48h}]", "Maintenance", "Stop", 24 * time.Hour, "", gone},
		{"codes-other", "[{events: [Maintenance], codes: [Network], action: Ignore}]", "Maintenance", "Stop", fortnight, "", gone},
		{"confirmed", "[{events: [SystemImpaired], action: Terminate, unconfirmed: Wait}]", "SystemImpaired", "", 0, "", told},
	}
}

// Every kind of event meets policies, one machine each. What must not happen is
// looked for until some seconds after all that must has happened; machines that are
// to be left alone are watched all the time. Then every event is cancelled, and the
// cordons go.
func TestEveryKindOfEventIsAnsweredAsThePolicySays(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.millwright()
	table := rows()
	c.manifests(class)
	for _, r := range table {
		c.manifests(disruptedPool(r.name, "consolidateAfter: Never", ""))
		c.manifests(dweller(r.name))
		if r.rules != "" {
			c.manifests(fmt.Sprintf("apiVersion: millwright.dev/v1alpha1\nkind: NodePolicy\nmetadata: {name: %[1]s}\nspec:\n  nodePools: {names: [%[1]s]}\n  interruption: {rules: %[2]s}\n", r.name, r.rules))
		}
	}
	c.eventually(patience, c.running("dweller", len(table)))
	machines := map[string]*unstructured.Unstructured{} // by pool
	for _, claim := range c.claims() {
		machines[claim.GetLabels()["karpenter.sh/nodepool"]] = &claim
	}

	before := map[string]string{}
	for _, r := range table {
		before[r.name] = c.uids("app=" + r.name)
	}

	var ignored []string
	for _, r := range table {
		if r.want == untouched {
			ignored = append(ignored, machines[r.name].GetName())
		}
	}
	watched := c.watchQuiet(ignored)
	c.knob("interruptions", c.announcement(table, machines, ""))
	c.eventually(patience, func() error { return c.answered(table, machines) })
	c.throughout(5*time.Second, func() error { return c.answered(table, machines) })

	c.undisturbed(table, machines, before)

	c.knob("interruptions", c.announcement(table, machines, "Cancelled"))
	c.eventually(patience, func() error {
		for name, n := range c.nodes() {
			if ourTaint(&n) {
				return fmt.Errorf("node %s is still cordoned", name)
			}
		}
		return nil
	})
	watched.check(c)
}

// dweller is a pod that needs a machine of a pool for itself.
func dweller(pool string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s, dweller: "true"}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {team: %[1]s}
      containers: [{name: main, image: example.com/main, resources: {requests: {cpu: 100m}}}]
`, pool)
}

// announcement is the knob's value; a state overrides those of the rows.
func (c *cluster) announcement(table []row, machines map[string]*unstructured.Unstructured, state string) string {
	c.Helper()
	var list []map[string]any
	for _, r := range table {
		e := map[string]any{"id": r.name, "kind": r.kind, "machine": machines[r.name].GetName(), "state": r.state}
		if r.code != "" {
			e["code"] = r.code
		}
		if r.in > 0 {
			e["notBefore"] = time.Now().Add(r.in).UTC().Format(time.RFC3339)
		}
		if state != "" {
			e["state"] = state
		}
		list = append(list, e)
	}
	text, err := json.Marshal(list)
	c.must(err)
	return string(text)
}

// answered finds fault with machines that are not what their row wants. Those that
// are on their way out count as gone, and fail the test if they should stay.
func (c *cluster) answered(table []row, machines map[string]*unstructured.Unstructured) error {
	now := map[string]unstructured.Unstructured{}
	for _, claim := range c.claims() {
		now[claim.GetName()] = claim
	}
	nodes := c.nodes()
	var faults []string
	for _, r := range table {
		claim := now[machines[r.name].GetName()]
		got := became(&claim, nodes)
		if got != r.want {
			faults = append(faults, fmt.Sprintf("%s is %s, want %s", r.name, got, r.want))
		}
		if got == gone && r.want != gone {
			c.Fatalf("%s has gone", r.name)
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("%d of %d rows: %s", len(faults), len(table), strings.Join(faults, "; "))
	}
	return nil
}

// undisturbed checks that pods of machines that stay are the same as before, and
// that nothing was said about machines that are not to be touched.
func (c *cluster) undisturbed(table []row, machines map[string]*unstructured.Unstructured, before map[string]string) {
	c.Helper()
	said, err := c.client.CoreV1().Events("default").List(c.Context(), metav1.ListOptions{})
	c.must(err)
	for _, r := range table {
		if r.want != gone && c.uids("app="+r.name) != before[r.name] {
			c.Errorf("%s: another pod than before", r.name)
		}
		for _, e := range said.Items {
			about := strings.Contains(e.Message, r.kind) && e.InvolvedObject.Name == machines[r.name].GetName()
			if r.want == untouched && about {
				c.Errorf("%s: %s: %s", r.name, e.Reason, e.Message)
			}
		}
	}
}

// became reads off a claim and its Node what has been done.
func became(claim *unstructured.Unstructured, nodes map[string]corev1.Node) outcome {
	if claim.Object == nil || claim.GetDeletionTimestamp() != nil {
		return gone
	}
	name, _, _ := unstructured.NestedString(claim.Object, "status", "nodeName")
	node := nodes[name]
	switch {
	case ourTaint(&node):
		return cordoned
	case condition(claim, "Interrupted"):
		return told
	}
	return untouched
}

func ourTaint(n *corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == "millwright.dev/interruption" {
			return true
		}
	}
	return false
}
