package disruption

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption/drift"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var update = flag.Bool("update", false, "rewrite the results in testdata")

// Each file in testdata is prose, a cluster, a line of dashes and the decision.
// A cluster is one object a line, with the words that worlds.add understands;
// times are how long ago something was, at noon, and clock is how much later it is now.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			for i, part := range strings.Split(string(text), "\n====\n") {
				if i > 0 {
					out.WriteString("====\n")
				}
				input, _, _ := strings.Cut(part, "----\n")
				fmt.Fprintf(&out, "%s----\n%s", input, decide(t, input))
			}
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if got := out.String(); got != string(text) {
				t.Errorf("got:\n%s\nwant:\n%s", got, text)
			}
		})
	}
}

func decide(t *testing.T, input string) string {
	t.Helper()
	d := Decide(build(t, input), Options{})
	again := Decide(build(t, input), Options{})
	var first, second bytes.Buffer
	if err := d.Table(&first); err != nil {
		t.Fatal(err)
	}
	if err := again.Table(&second); err != nil || second.String() != first.String() {
		t.Errorf("the same cluster gave another decision:\n%s", second.String())
	}
	return first.String()
}

// world is a cluster under construction.
type world struct {
	t       *testing.T
	s       *snapshot.Snapshot
	classes snapshot.Classes
}

func build(t *testing.T, input string) *snapshot.Snapshot {
	w := &world{t: t, s: &snapshot.Snapshot{Now: noon}}
	for line := range strings.Lines(input) {
		if words := strings.Fields(line); len(words) > 1 {
			w.add(words[0], words[1], words[2:])
		}
	}
	slices.SortFunc(w.s.Nodes, func(a, b *snapshot.Node) int { return cmp.Compare(a.Name, b.Name) })
	return w.s
}

func (w *world) add(kind, name string, words []string) {
	switch kind {
	case "pool":
		w.s.Pools = append(w.s.Pools, w.pool(name, words))
	case "node":
		w.s.Nodes = append(w.s.Nodes, w.node(name, words))
	case "pod":
		w.pod(name, words)
	case "clock":
		w.s.Now = noon.Add(w.duration(name))
	case "pdb":
		namespace, name, _ := strings.Cut(name, "/")
		pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		for key, value := range pairs(words) {
			pdb.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		}
		w.s.PDBs = append(w.s.PDBs, pdb)
	}
}

func (w *world) pool(name string, words []string) *snapshot.Pool {
	after := 5 * time.Minute
	p := &snapshot.Pool{Name: name, Disruption: snapshot.Disruption{ConsolidateAfter: &after, Budgets: []snapshot.Budget{{Nodes: "100%"}}}}
	p.Types = []*catalog.Type{offered("small", 1), offered("large", 2)}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "after":
			after = w.duration(value)
		case "never":
			p.Disruption.ConsolidateAfter = nil
		case "static":
			p.Replicas = new(int64)
		case "policy":
			p.Disruption.Policy = value
		case "freeze":
			p.Policy.Disruption.Freeze = value
		case "window": // schedule@duration@zone, the schedule with _ for spaces
			part := append(strings.Split(value, "@"), "", "")
			p.Policy.Disruption.Windows = append(p.Policy.Disruption.Windows, snapshot.Window{
				Schedule: strings.ReplaceAll(part[0], "_", " "), Duration: w.duration(part[1]), TimeZone: part[2],
			})
		case "min-age":
			p.Policy.Disruption.MinNodeAge = w.duration(value)
		case "min-saving":
			p.Policy.Disruption.MinSaving, _ = strconv.ParseFloat(value, 64)
		case "default-deny":
			p.Policy.Disruption.DefaultDeny = true
		case "wide": // Cluster or Zone/nodes[/reason], several times
			part := strings.Split(value, "/")
			p.Policy.Disruption.Budgets = append(p.Policy.Disruption.Budgets, snapshot.WideBudget{Zone: part[0] == "Zone", Nodes: part[1], Reasons: part[2:]})
		case "evictions":
			p.Policy.Disruption.EvictionsPerHour, _ = strconv.Atoi(value)
		case "cooldown":
			p.Policy.Disruption.WorkloadCooldown = w.duration(value)
		case "loop-freeze":
			d := w.duration(value)
			p.Policy.Disruption.LoopFreeze = &d
		case "payback":
			p.Policy.Disruption.PaybackTime = w.duration(value)
		case "pod-cost":
			p.Policy.Disruption.PodMoveCost, _ = strconv.ParseFloat(value, 64)
		case "moved": // ago/pods[/kind gone[/kind come]], several times, the earliest first
			part := append(strings.Split(value, "/"), "", "")
			m := snapshot.PoolMove{At: w.ago(part[0])}
			m.Pods, _ = strconv.Atoi(part[1])
			m.Gone, m.Came = kinds(part[2]), kinds(part[3])
			p.Moves = append(p.Moves, m)
		case "deadline":
			d := w.duration(value)
			p.Policy.Disruption.ExpiryDeadline = &d
		case "hash":
			p.Hash, p.HashVersion = value, "v3"
		case "limit":
			p.Limits = corev1.ResourceList{"nodes": resource.MustParse(value)}
		case "sells": // type:cpu:price[:capacityType]
			p.Types = sold(value)
		case "budget": // nodes@schedule@duration, the schedule with _ for spaces
			part := append(strings.Split(value, "@"), "", "")
			b := snapshot.Budget{Nodes: part[0], Schedule: strings.ReplaceAll(part[1], "_", " ")}
			if part[2] != "" {
				b.Duration = w.duration(part[2])
			}
			p.Disruption.Budgets = []snapshot.Budget{b}
		default:
			w.t.Fatalf("unknown word %q", word)
		}
	}
	return p
}

// kinds is one machine of a type, on demand in zone a.
func kinds(name string) map[string]int {
	if name == "" {
		return nil
	}
	return map[string]int{name + "/a/" + catalog.OnDemand: 1}
}

// sold are types with twice as many GiB as CPUs.
func sold(text string) []*catalog.Type {
	var out []*catalog.Type
	for _, one := range strings.Split(text, ",") {
		part := append(strings.Split(one, ":"), catalog.OnDemand)
		price, _ := strconv.ParseFloat(part[2], 64)
		cpu := resource.MustParse(part[1])
		out = append(out, &catalog.Type{
			Name:      part[0],
			Capacity:  corev1.ResourceList{"cpu": cpu, "memory": *resource.NewQuantity(cpu.Value()<<31, resource.BinarySI), "pods": resource.MustParse("110")},
			Offerings: []catalog.Offering{{Zone: "a", CapacityType: part[3], Price: price, Available: true}},
			Requirements: requirement.NewSet(
				requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, part[0]),
				requirement.Must(corev1.LabelTopologyZone, requirement.In, "a"),
				requirement.Must(catalog.CapacityTypeLabel, requirement.In, part[3]),
			),
		})
	}
	return out
}

func offered(name string, price float64) *catalog.Type {
	return &catalog.Type{Name: name, Offerings: []catalog.Offering{{Zone: "a", CapacityType: "spot", Price: price}}}
}

func (w *world) node(name string, words []string) *snapshot.Node {
	long := snapshot.Condition{Status: corev1.ConditionTrue, Since: noon.Add(-time.Hour)}
	c := &snapshot.Claim{Name: "claim-" + name, Created: noon.Add(-time.Hour), Conditions: map[string]snapshot.Condition{
		snapshot.Launched: long, snapshot.Registered: long, snapshot.Initialized: long,
	}}
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}, Labels: map[string]string{
		"topology.kubernetes.io/zone": "a", "karpenter.sh/capacity-type": "spot",
		snapshot.RegisteredLabel: "true", snapshot.InitializedLabel: "true",
	}}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	o.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("20")}
	n := &snapshot.Node{Name: name, Object: o, Claim: c}
	for _, word := range words {
		w.nodeWord(n, word)
	}
	return n
}

func (w *world) nodeWord(n *snapshot.Node, word string) {
	key, value, _ := strings.Cut(word, "=")
	c, o := n.Claim, n.Object
	switch key {
	case "pool":
		c.Pool = value
	case "type":
		o.Labels["node.kubernetes.io/instance-type"] = value
	case "event":
		c.LastPodEvent = w.ago(value)
	case "initialized": // and since when registered, if not for as long
		initialized, registered, _ := strings.Cut(value, "/")
		c.Conditions[snapshot.Initialized] = snapshot.Condition{Status: corev1.ConditionTrue, Since: w.ago(initialized)}
		c.Conditions[snapshot.Registered] = snapshot.Condition{Status: corev1.ConditionTrue, Since: w.ago(cmp.Or(registered, initialized))}
	case "created": // and initialized a minute later
		c.Created = w.ago(value)
		c.Conditions[snapshot.Initialized] = snapshot.Condition{Status: corev1.ConditionTrue, Since: c.Created.Add(time.Minute)}
	case "zone":
		o.Labels["topology.kubernetes.io/zone"] = value
	case "waits":
		c.Conditions[value] = snapshot.Condition{Status: corev1.ConditionUnknown, Reason: "NodeNotReady"}
	case "deleted":
		c.Deleted = w.ago(value)
	case "shutting-down":
		c.Conditions[snapshot.InstanceTerminating] = snapshot.Condition{Status: corev1.ConditionTrue, Since: noon}
	case "notready":
		o.Status.Conditions[0].Status = corev1.ConditionUnknown
	case "tainted":
		o.Spec.Taints = append(o.Spec.Taints, eviction.DisruptedTaint)
	case "marked":
		c.Conditions[snapshot.DisruptionReason] = snapshot.Condition{Status: corev1.ConditionTrue, Reason: "Empty", Since: w.ago(value)}
	case "protected":
		o.Annotations[eviction.DoNotDisruptAnnotation] = "true"
	case "claim-protected":
		w.annotate(c, eviction.DoNotDisruptAnnotation, "true")
	case "hash":
		w.annotate(c, drift.HashAnnotation, value)
		w.annotate(c, drift.VersionAnnotation, "v3")
	case "expires": // after, of an hour's age
		d := w.duration(value)
		c.ExpireAfter = &d
	case "grace":
		d := w.duration(value)
		c.TerminationGracePeriod = &d
	case "asked": // cause@ago[/why[/deadline, or budgeted]]
		part := append(strings.Split(value, "/"), "", "")
		cause, ago, _ := strings.Cut(part[0], "@")
		r := Request{Cause: Cause(cause), At: w.ago(ago), Why: strings.ReplaceAll(part[1], "_", " "), Budgeted: part[2] == "budgeted"}
		if part[2] != "" && !r.Budgeted {
			r.Deadline = noon.Add(w.duration(part[2]))
		}
		w.annotate(c, RequestAnnotation, r.String())
	case "unsettled": // the Node's age; it carries a taint that nobody has declared
		o.CreationTimestamp = metav1.NewTime(w.ago(value))
		o.Spec.Taints = append(o.Spec.Taints, corev1.Taint{Key: "example.com/agent", Effect: corev1.TaintEffectNoSchedule})
		w.annotate(c, lifecycle.UndeclaredAnnotation, "example.com/agent:NoSchedule")
	case "capacity":
		o.Labels["karpenter.sh/capacity-type"] = value
	case "cpu": // of a type that its pool sells
		o.Labels["karpenter.sh/capacity-type"] = catalog.OnDemand
		cpu := resource.MustParse(value)
		o.Status.Allocatable["cpu"] = cpu
		o.Status.Allocatable["memory"] = *resource.NewQuantity(cpu.Value()<<31, resource.BinarySI)
		c.Allocatable = o.Status.Allocatable
	case "command": // cause/claims/replacements/spend; the ID is 1
		part := append(strings.Split(value, "/"), "", "", "")
		p := Progress{ID: "1", Cause: Cause(part[0]), Claims: strings.Split(part[1], ","), Replaced: part[2] != ""}
		if p.Replaced && part[2] != "none" {
			p.Replacements = strings.Split(part[2], ",")
		}
		p.Spend, _ = strconv.ParseFloat(part[3], 64)
		w.annotate(c, CommandAnnotation, p.String())
		o.Spec.Taints = append(o.Spec.Taints, eviction.DisruptedTaint)
		c.Conditions[snapshot.DisruptionReason] = snapshot.Condition{Status: corev1.ConditionTrue, Reason: part[0], Since: noon.Add(-time.Minute)}
	case "replaces":
		w.annotate(c, snapshot.ReplacesAnnotation, value)
	case "failed": // times@ago
		times, ago, _ := strings.Cut(value, "@")
		n, _ := strconv.Atoi(times)
		w.annotate(c, FailureAnnotation, Failure{n, w.ago(ago)}.String())
	case "coming":
		n.Object = nil
		delete(c.Conditions, snapshot.Registered)
		delete(c.Conditions, snapshot.Initialized)
		c.ProviderID = name(n)
		c.Labels = o.Labels
	case "foreign":
		n.Claim = nil
	case "nodeless":
		n.Object = nil
	default:
		w.t.Fatalf("unknown word %q", word)
	}
}

func (w *world) annotate(c *snapshot.Claim, key, value string) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[key] = value
}

func name(n *snapshot.Node) string { return n.Name }

func (w *world) pod(name string, words []string) {
	namespace, name, _ := strings.Cut(name, "/")
	start := metav1.NewTime(noon.Add(-10 * time.Minute))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{}}, Status: corev1.PodStatus{StartTime: &start}}
	var at string
	for key, value := range pairs(words) {
		switch key {
		case "on":
			at = value
		case "app":
			p.Labels = map[string]string{key: value}
		case "of":
			version := map[string]string{"Node": "v1", "DaemonSet": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1"}[value]
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: value}}
		case "started":
			at := metav1.NewTime(w.ago(value))
			p.Status.StartTime = &at
		case "by": // a ReplicaSet
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: value, Controller: new(true)}}
		case "do-not-disrupt":
			p.Annotations[eviction.DoNotDisruptAnnotation] = value
		case "cpu":
			p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse(value)},
			}}}
		case "waits": // since, and since when kube-scheduler has said the same
			waits, said, _ := strings.Cut(value, "/")
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes are available",
				LastTransitionTime: metav1.NewTime(w.ago(waits)),
			})
			if said != "" {
				at := metav1.NewTime(w.ago(said))
				p.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:conditions":{"k:{\"type\":\"PodScheduled\"}":{}}}`)}}
			}
		case "refused": // first/last
			first, last, _ := strings.Cut(value, "/")
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: nomination.SchedulerDisagrees, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(w.ago(first)), LastProbeTime: metav1.NewTime(w.ago(last)),
			})
		case "phase":
			p.Status.Phase = corev1.PodPhase(value)
		case "ending":
			p.DeletionTimestamp = &metav1.Time{Time: noon}
		case "tolerant":
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		default:
			w.t.Fatalf("unknown word %q", key)
		}
	}
	wrapped := w.classes.Pod(p)
	if n := w.s.Node(at); n != nil {
		n.Pods = append(n.Pods, wrapped)
	} else {
		w.s.Pending = append(w.s.Pending, wrapped)
	}
}

func (w *world) ago(text string) time.Time { return noon.Add(-w.duration(text)) }

func (w *world) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func pairs(words []string) map[string]string {
	out := map[string]string{}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		out[key] = value
	}
	return out
}

func TestALastLookFindsWhateverCameBetween(t *testing.T) {
	const quiet = "pool p after=0s\nnode a pool=p tainted marked=1m"
	d := Decide(build(t, quiet), Options{})
	if len(d.Commands) != 1 || d.Commands[0].Step != Remove {
		t.Fatalf("commands: %+v", d.Commands)
	}
	for live, want := range map[string]plan.Code{
		quiet:                                    "",
		quiet + "\npod x/a on=a":                 plan.HasPods,
		quiet + "\npod x/a on=a of=DaemonSet":    "",
		quiet + "\npod x/a on=a phase=Succeeded": "",
		quiet + "\npod x/a on=a of=Node do-not-disrupt=true": plan.DoNotDisrupt,
		quiet + " protected":                               plan.DoNotDisrupt,
		quiet + " deleted=1s":                              plan.BeingDeleted,
		quiet + " waits=Initialized":                       plan.NotInitialized,
		quiet + " event=0s":                                "",
		"pool p after=0s\nnode a pool=p marked=1m":         plan.Disrupting,
		"pool p after=0s\nnode a pool=p tainted":           plan.Disrupting,
		"pool p after=0s\nnode a pool=p tainted marked=1s": plan.Disrupting,
	} {
		if reason, stays := d.Still(d.Commands[0], build(t, live).Nodes[0]); stays != (want != "") || stays && reason.Code != want {
			t.Errorf("%q: stays %t because %s, want %q", live, stays, reason.Code, want)
		}
	}
}
