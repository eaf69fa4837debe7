package repair_test

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/repair"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestStories(t *testing.T) {
	storytest.Run(t, "testdata", func() storytest.World { return (&world{now: noon}).do })
}

var noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

// world is a cluster whose machines break, and the time. Besides the commands of
// enginetest.Scenario:
//
//	gate                                   Karpenter's feature gate is on
//	provider Ready/Unknown 30m             the provider's conditions, an action may follow, and a reason Ready/Unknown/X
//	repair main action=A budget=B min=N breaker=20% nodes=3 percent=50 replace=15m drain=5m
//	rule main NetworkingReady/False 10m [ACTION]
//	agent main cilium restarts=3 toleration=15m action=A
//	nodes a count=4 ...                    several nodes: a1, a2, ...
//	has n1,n2 NetworkingReady/False        a condition, from now on, a reason may follow; behind=1h by a clock that is
//	boot n1 1                              its Node's boot ID
//	requested n1 30s                       Karpenter has requested its reboot, with a bound for the drain
//	step n1                                its reboot one step further
//	rebooted n1 RebootSucceeded            its reboot has ended
//	image n1,n2 ami-1
//	crash n1 cilium 4 [running=3m]         its container has restarted so often
//	calm n1 cilium 4                       it has, and runs well since
//	annotate node n1 true                  karpenter.sh/do-not-repair of a node, or a claim
//	budget main 1 Unhealthy [SCHEDULE 1h]  a budget of the pool, of a reason or of all
//	asked n1                               others ask for its replacement
//	delete n1                              somebody deletes its claim
//	after 2h                               so much later
//	decide                                 the decision
//	obey                                   the decision is carried out, as far as objects show it
type world struct {
	enginetest.Scenario
	now  time.Time
	opts repair.Options
}

func (w *world) do(t *testing.T, c storytest.Command) string {
	switch c.Name {
	case "gate":
		w.opts.Gate = true
	case "provider":
		w.opts.Provider = append(w.opts.Provider, rule(t, c.Args))
	case "repair":
		w.policy(t, c)
	case "rule":
		p := &w.Pool(c.Args[0]).Policy.Repair
		p.On, p.Conditions = true, append(p.Conditions, rule(t, c.Args[1:]))
	case "agent":
		p := &w.Pool(c.Args[0]).Policy.Repair
		p.On, p.Agents = true, append(p.Agents, snapshot.RepairAgent{
			DaemonSetSelector: snapshot.DaemonSetSelector{Namespace: "default", Name: c.Args[1]},
			Restarts:          storytest.Number(t, c.Options["restarts"]), Toleration: storytest.Duration(t, c.Options["toleration"]), Action: snapshot.RepairAction(c.Options["action"]),
		})
	case "has":
		w.has(t, c)
	case "boot":
		w.Node(c.Args[0]).Object.Status.NodeInfo.BootID = c.Args[1]
	case "requested":
		claim := w.Node(c.Args[0]).Claim
		claim.Annotations[repair.RebootDrainAnnotation] = c.Args[1]
		claim.Conditions[snapshot.Rebooting] = snapshot.Condition{Status: corev1.ConditionTrue, Reason: lifecycle.RebootRequested, Since: w.now}
	case "step":
		return w.step(w.Node(c.Args[0]))
	case "rebooted":
		claim := w.Node(c.Args[0]).Claim
		claim.Conditions[snapshot.Rebooting] = snapshot.Condition{Status: corev1.ConditionFalse, Reason: c.Args[1], Since: w.now}
		claim.Conditions[snapshot.Initialized] = snapshot.Condition{Status: corev1.ConditionTrue, Since: w.now}
		delete(claim.Annotations, lifecycle.PreBootAnnotation)
	case "image":
		for _, name := range strings.Split(c.Args[0], ",") {
			w.Node(name).Claim.Image = c.Args[1]
		}
	case "crash", "calm":
		w.crash(t, c)
	case "annotate":
		n := w.Node(c.Args[1])
		annotations := n.Claim.Annotations
		if c.Args[0] == "node" {
			annotations = map[string]string{}
			n.Object.Annotations = annotations
		}
		annotations[repair.DoNotRepairAnnotation] = c.Args[2]
	case "budget":
		p := w.Pool(c.Args[0])
		b := snapshot.Budget{Nodes: c.Args[1]}
		if len(c.Args) > 2 {
			b.Reasons = c.Args[2:3]
		}
		if last := len(c.Args) - 1; last > 3 {
			b.Schedule, b.Duration = strings.Join(c.Args[3:last], " "), storytest.Duration(t, c.Args[last])
		}
		p.Disruption.Budgets = append(p.Disruption.Budgets, b)
	case "asked": // by others, for an interruption
		w.Node(c.Args[0]).Claim.Annotations[disruption.RequestAnnotation] = disruption.Request{Cause: disruption.Interrupted, At: w.now}.String()
	case "delete":
		w.Node(c.Args[0]).Claim.Deleted = w.now
	case "after":
		w.now = w.now.Add(storytest.Duration(t, c.Args[0]))
	case "decide":
		return w.decide().String()
	case "obey":
		w.obey()
	case "nodes":
		prefix := c.Args[0]
		for i := range storytest.Number(t, c.Options["count"]) {
			c.Args[0] = prefix + strconv.Itoa(i+1)
			w.node(t, c)
		}
	case "node":
		w.node(t, c)
	default:
		if !w.Do(t, c) {
			t.Fatalf("unknown command %q", c.Name)
		}
	}
	return ""
}

// node adds one that is Ready and, unless the stage says otherwise, initialized.
func (w *world) node(t *testing.T, c storytest.Command) {
	c.Name = "node"
	w.Do(t, c)
	n := w.Node(c.Args[0])
	if n.Claim == nil {
		return
	}
	n.Claim.Annotations = map[string]string{}
	if n.Object.Labels[snapshot.InitializedLabel] == "true" {
		n.Claim.Conditions[snapshot.Initialized] = snapshot.Condition{Status: corev1.ConditionTrue}
	}
	setCondition(n.Object, corev1.NodeReady, corev1.ConditionTrue, w.now.Add(-time.Hour))
	if c.Has("joins") {
		n.Object.CreationTimestamp = metav1.NewTime(w.now)
	}
}

func setCondition(n *corev1.Node, kind corev1.NodeConditionType, status corev1.ConditionStatus, since time.Time) {
	fresh := corev1.NodeCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(since)}
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == kind {
			n.Status.Conditions[i] = fresh
			return
		}
	}
	n.Status.Conditions = append(n.Status.Conditions, fresh)
}

// step takes a machine's reboot one step further, as far as objects show it, and says what was done.
func (w *world) step(n *snapshot.Node) string {
	step := repair.NextReboot(drain.View{Now: w.now, Node: n, Budgets: eviction.NewBudgets(nil)})
	var did []string
	if step.Taint {
		did = append(did, "taint")
		n.Object.Spec.Taints = append(n.Object.Spec.Taints, lifecycle.Rebooting)
	}
	if step.Drain.Phase != "" {
		did = append(did, "wait for pods")
	}
	for _, key := range slices.Sorted(maps.Keys(step.Notes)) {
		did = append(did, key+"="+step.Notes[key])
		n.Claim.Annotations[key] = step.Notes[key]
	}
	if step.Tell {
		did = append(did, "tell the cloud")
	}
	if step.Issued {
		did = append(did, "issued")
	}
	if step.Failed != "" {
		did = append(did, "failed: "+step.Failed)
	}
	return strings.Join(did, "; ") + "\n"
}

func (w *world) has(t *testing.T, c storytest.Command) {
	kind, status, _ := strings.Cut(c.Args[1], "/")
	status, reason, _ := strings.Cut(status, "/")
	clock := w.now
	if c.Has("behind") {
		clock = clock.Add(-storytest.Duration(t, c.Options["behind"]))
	}
	for _, name := range strings.Split(c.Args[0], ",") {
		setCondition(w.Node(name).Object, corev1.NodeConditionType(kind), corev1.ConditionStatus(status), clock)
		conditions := w.Node(name).Object.Status.Conditions
		conditions[len(conditions)-1].Reason = reason
	}
}

func (w *world) policy(t *testing.T, c storytest.Command) {
	p := &w.Pool(c.Args[0]).Policy.Repair
	p.On = true
	for k, v := range c.Options {
		switch k {
		case "action":
			p.Action = snapshot.RepairAction(v)
		case "budget":
			p.Budget = v
		case "min":
			p.MinHealthy = storytest.Number(t, v)
		case "breaker":
			p.MaxUnhealthy = v
		case "nodes":
			p.CorrelatedNodes = storytest.Number(t, v)
		case "percent":
			p.CorrelatedPercent = storytest.Number(t, v)
		case "replace":
			p.ReplaceTimeout = storytest.Duration(t, v)
		case "drain":
			p.DrainTimeout = storytest.Duration(t, v)
		}
	}
}

// crash puts an agent's pod on a node, with a container that crashes or runs.
func (w *world) crash(t *testing.T, c storytest.Command) {
	n := w.Node(c.Args[0])
	yes := true
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: c.Args[1] + "-" + n.Name,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: c.Args[1], Controller: &yes}},
	}}
	status := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
	if c.Name == "calm" || c.Has("running") {
		since := w.now.Add(-repair.Recovered)
		if c.Has("running") {
			since = w.now.Add(-storytest.Duration(t, c.Options["running"]))
		}
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
	}
	status.RestartCount = int32(storytest.Number(t, c.Args[2]))
	p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	n.Pods = []*snapshot.Pod{new(snapshot.Classes).Pod(p)}
}

func (w *world) decide() *repair.Decision {
	w.Now = w.now
	return repair.Decide(&w.Snapshot, w.opts)
}

func (w *world) obey() {
	d := w.decide()
	for _, c := range d.Commands {
		notes := c.Node.Claim.Annotations
		switch c.Do {
		case repair.Ask:
			notes[disruption.RequestAnnotation] = disruption.Request{Cause: disruption.Unhealthy, At: w.now}.String()
		case repair.Withdraw:
			delete(notes, disruption.RequestAnnotation)
		case repair.Reboot:
			c.Node.Claim.Conditions[snapshot.Rebooting] = snapshot.Condition{Status: corev1.ConditionTrue, Reason: lifecycle.RebootRequested, Message: c.Finding.RebootCause(), Since: w.now}
		case repair.Bound:
			notes[repair.TerminationAnnotation] = c.Deadline.Format(time.RFC3339)
		case repair.Terminate:
			notes[repair.TerminationAnnotation] = c.Deadline.Format(time.RFC3339)
			c.Node.Claim.Deleted = w.now
		}
	}
	for n, since := range d.Notes {
		n.Claim.Annotations[repair.SinceAnnotation] = since
	}
}

// rule reads TYPE=STATUS TOLERATION [ACTION].
func rule(t *testing.T, args []string) snapshot.RepairCondition {
	t.Helper()
	kind, status, ok := strings.Cut(args[0], "/")
	if !ok {
		t.Fatalf("%q is not TYPE/STATUS", args[0])
	}
	status, reason, reasoned := strings.Cut(status, "/")
	out := snapshot.RepairCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status), Toleration: storytest.Duration(t, args[1])}
	if len(args) > 2 {
		out.Action = snapshot.RepairAction(args[2])
	}
	if reasoned {
		out.Reason = regexp.MustCompile(reason)
	}
	return out
}
