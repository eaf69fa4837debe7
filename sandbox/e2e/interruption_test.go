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

// row is one case: a pool of one machine, its policy, an event, what people answer,
// and what comes of it. Times are relative to the announcement.
type row struct {
	name, rules string // rules as in the policy; empty is no policy
	kind, code  string
	in          time.Duration
	state       string
	answer      string // approve or deny, once somebody is asked
	want        outcome
	// guarded is for a machine whose pod must not be disrupted and has a budget that
	// allows nothing; moved is whether it moves all the same.
	guarded, moved bool
	// asked is the phase of the DisruptionRequest about the machine, empty for none.
	asked string
}

// shut is a window that is not open now, on whatever day the test runs.
func shut() string {
	day := time.Now().UTC().AddDate(0, 0, 3).Weekday()
	return fmt.Sprintf(`windows: [{schedule: "0 2 * * %d", duration: 2h}]`, day)
}

// impairedZone is the zone of machines that events about a zone concern.
const impairedZone = "us-east-1c"

const fortnight = 14 * 24 * time.Hour

// kinds are all that the cloud announces, with when that is to happen and what comes
// of it where there is no policy.
var kinds = []row{
	{kind: "SpotInterruption", in: time.Hour, want: gone},
	{kind: "RebalanceRecommendation", want: told},
	{kind: "Maintenance", code: "Stop", in: fortnight, want: gone},
	{kind: "ReservationInterruption", in: time.Hour, want: gone},
	{kind: "InstanceStopped", in: time.Hour, want: gone},
	{kind: "InstanceTerminated", in: time.Hour, want: gone},
	{kind: "InstanceImpaired", want: gone},
	{kind: "SystemImpaired", want: gone},
	{kind: "VolumeImpaired", want: told},
	{kind: "ZoneImpaired", want: told},
	{kind: "ServiceIssue", want: told},
}

// rows are every kind under every policy, and what is particular.
func rows() []row {
	var names []string
	for _, r := range kinds {
		names = append(names, r.kind)
	}
	all := func(what string) string { return "[{events: [" + strings.Join(names, ", ") + "], " + what + "}]" }
	var out []row
	for _, policy := range []row{
		{name: "plain"},
		{name: "ignore", rules: all("action: Ignore"), want: untouched},
		{name: "notify", rules: all("action: Notify"), want: told},
		{name: "approval", rules: all("action: Drain, approval: Required"), want: told, asked: "Proposed"},
		{name: "window", rules: all("action: Drain, " + shut()), want: told},
	} {
		for _, r := range kinds {
			r.name, r.rules, r.asked = policy.name+"-"+strings.ToLower(r.kind), policy.rules, policy.asked
			if policy.want != "" {
				r.want = policy.want
			}
			out = append(out, r)
		}
	}
	return append(out, particular()...)
}

func particular() []row {
	maintenance := func(what string) string { return "[{events: [Maintenance], " + what + "}]" }
	ask, cordon := maintenance("action: Drain, approval: Required"), "[{events: [Maintenance, RebalanceRecommendation], action: Cordon}]"
	stop := func(r row, in time.Duration) row {
		r.kind, r.code, r.in = "Maintenance", "Stop", in
		return r
	}
	return []row{
		{name: "plain-soon", kind: "SpotInterruption", in: 2 * time.Minute, want: gone},
		{name: "plain-retirement", kind: "Maintenance", code: "Retirement", in: fortnight, want: gone},
		{name: "plain-network", kind: "Maintenance", code: "Network", in: fortnight, want: gone},
		stop(row{name: "plain-completed", state: "Completed", want: untouched}, fortnight),
		{name: "plain-cancelled", kind: "Maintenance", code: "Reboot", in: fortnight, state: "Cancelled", want: untouched},

		{name: "cordon-reboot", rules: cordon, kind: "Maintenance", code: "Reboot", in: time.Hour, want: cordoned},
		{name: "cordon-rebalance", rules: cordon, kind: "RebalanceRecommendation", want: cordoned},
		stop(row{name: "window-late", rules: maintenance("action: Drain, " + shut()), want: gone}, 20*time.Minute),
		{name: "window-leave", rules: maintenance("action: Drain, whenTooLate: Leave, " + shut()), kind: "Maintenance", code: "Reboot", in: time.Hour, want: told},
		stop(row{name: "lead-stop", rules: maintenance("action: Drain, leadTime: 48h"), want: told}, fortnight),
		stop(row{name: "lead-soon", rules: maintenance("action: Drain, leadTime: 48h"), want: gone}, 24*time.Hour),
		stop(row{name: "codes-other", rules: maintenance("codes: [Network], action: Ignore"), want: gone}, fortnight),
		stop(row{name: "guarded-default", guarded: true, want: gone}, fortnight),
		stop(row{name: "guarded-moved", rules: maintenance("action: Drain, doNotDisrupt: Evict, podDisruptionBudgets: Ignore"), guarded: true, moved: true, want: gone}, fortnight),
		stop(row{name: "guarded-waits", rules: maintenance("action: Drain, doNotDisrupt: Respect"), guarded: true, want: told}, fortnight),
		{name: "confirmed", rules: "[{events: [SystemImpaired], action: Terminate, unconfirmed: Wait}]", kind: "SystemImpaired", want: told},

		stop(row{name: "approval-given", rules: ask, answer: "approve", want: gone, asked: "Done"}, fortnight),
		stop(row{name: "approval-denied", rules: ask, answer: "deny", want: told, asked: "Denied"}, 20*time.Minute),
		stop(row{name: "approval-late", rules: maintenance("action: Drain, approval: UntilDeadline"), want: gone, asked: "Expired"}, 20*time.Minute),
		stop(row{name: "approval-window", rules: maintenance("action: Drain, approval: Required, " + shut()), answer: "approve", want: told, asked: "Approved"}, fortnight),
	}
}

// Every kind of event meets policies, one machine each. What must not happen is
// looked for until some seconds after all that must has happened; machines that are
// to be left alone are watched all the time. Then every event is cancelled: the
// cordons go, and questions that nobody has answered are withdrawn.
func TestEveryKindOfEventIsAnsweredAsThePolicySays(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.millwright()
	table := rows()
	c.manifests(class)
	for _, r := range table {
		c.manifests(disruptedPool(r.name, "consolidateAfter: Never", "", r.zones()) + "---" + r.dweller())
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
	c.answer(table, machines)
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
		for claim, phase := range c.phases() {
			if phase == "Proposed" || phase == "Approved" {
				return fmt.Errorf("the request about %s is still %s", claim, phase)
			}
		}
		return nil
	})
	watched.check(c)
}

// dweller is the row's pod.
func (r row) dweller() string {
	if !r.guarded {
		return dweller(r.name)
	}
	return strings.Replace(dweller(r.name), "template:\n    metadata: {", `template:
    metadata: {annotations: {karpenter.sh/do-not-disrupt: "true"}, `, 1) + fmt.Sprintf(`---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %[1]s}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: %[1]s}}}
`, r.name)
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

// zones are where the machine of a row may be.
func (r row) zones() string {
	if r.kind == "ZoneImpaired" {
		return "{key: topology.kubernetes.io/zone, operator: In, values: [" + impairedZone + "]}"
	}
	return "{key: topology.kubernetes.io/zone, operator: NotIn, values: [" + impairedZone + "]}"
}

// answer answers the requests about the machines of rows that say so, when they are
// there.
func (c *cluster) answer(table []row, machines map[string]*unstructured.Unstructured) {
	c.Helper()
	for _, r := range table {
		if r.answer == "" {
			continue
		}
		c.eventually(patience, func() error {
			list, err := c.dynamic.Resource(disruptionRequests).List(c.Context(), metav1.ListOptions{})
			c.must(err)
			for _, q := range list.Items {
				if claim, _, _ := unstructured.NestedString(q.Object, "spec", "nodeClaim"); claim == machines[r.name].GetName() {
					if out, code := c.command(r.answer, q.GetName()); code != 0 {
						c.Fatalf("%s %s: exit status %d: %s", r.answer, q.GetName(), code, out)
					}
					return nil
				}
			}
			return fmt.Errorf("nobody is asked about %s", r.name)
		})
	}
}

// phases are those of the DisruptionRequests, by claim.
func (c *cluster) phases() map[string]string {
	c.Helper()
	list, err := c.dynamic.Resource(disruptionRequests).List(c.Context(), metav1.ListOptions{})
	c.must(err)
	out := map[string]string{}
	for _, q := range list.Items {
		claim, _, _ := unstructured.NestedString(q.Object, "spec", "nodeClaim")
		out[claim], _, _ = unstructured.NestedString(q.Object, "status", "phase")
	}
	return out
}

// announcement is the knob's value; a state overrides those of the rows.
func (c *cluster) announcement(table []row, machines map[string]*unstructured.Unstructured, state string) string {
	c.Helper()
	var list []map[string]any
	for _, r := range table {
		e := map[string]any{"id": r.name, "kind": r.kind, "state": r.state}
		if r.kind == "ZoneImpaired" {
			e["zone"] = impairedZone
		} else {
			e["machine"] = machines[r.name].GetName()
		}
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
	there := map[string]bool{}
	for _, p := range c.pods("dweller") {
		there[p.Labels["app"]+" on "+p.Spec.NodeName] = true
	}
	nodes, phases := c.nodes(), c.phases()
	var faults []string
	for _, r := range table {
		name := machines[r.name].GetName()
		claim := now[name]
		got, asked := became(&claim, nodes), phases[name]
		if got != r.want || asked != r.asked {
			faults = append(faults, fmt.Sprintf("%s is %s (request %q), want %s (%q)", r.name, got, asked, r.want, r.asked))
		}
		if r.guarded && there[r.name+" on "+name] == r.moved {
			faults = append(faults, fmt.Sprintf("%s: the pod has moved: %v, want %v", r.name, !r.moved, r.moved))
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
