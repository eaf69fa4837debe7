package disruption

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption/drift"
	"github.com/millwright-dev/millwright/engine/disruption/idle"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

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
	case "labels": // the claim has them too
		c.Labels = o.Labels
	case "event":
		c.LastPodEvent = w.ago(value)
	case "ended": // a workload, whenever its pod has
		n.Ended = map[string]time.Time{"Job/default/rounds": w.ago(value)}
	case "streak": // since/events
		since, events, _ := strings.Cut(value, "/")
		n, _ := strconv.Atoi(events)
		w.annotate(c, idle.StreakAnnotation, idle.Streak{Since: w.ago(since), Events: n}.String())
	case "drifted":
		c.Conditions[snapshot.Drifted] = snapshot.Condition{Status: corev1.ConditionTrue, Reason: "NodePoolDrifted", Since: w.ago(value)}
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
	case "restarting": // since a while
		w.annotate(c, restart.Annotation, restart.Record{Events: []string{"event"}, Begun: w.ago(value)}.Text())
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
	case "reservation":
		o.Labels["karpenter.sh/capacity-type"], o.Labels["reservation"] = catalog.Reserved, value
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
	case "settles": // marked a second ago, after command
		c.Conditions[snapshot.DisruptionReason] = snapshot.Condition{Status: corev1.ConditionTrue, Reason: c.Conditions[snapshot.DisruptionReason].Reason, Since: noon.Add(-time.Second)}
	case "unused": // by pods of a workload
		w.annotate(c, backoff.UnusedAnnotation, `[{"workload":"`+value+`"}]`)
	case "agrees":
		o.Annotations[eviction.DoNotDisruptAnnotation] = "false"
	case "replaces":
		w.annotate(c, snapshot.ReplacesAnnotation, value)
	case "failed": // times@ago/template
		times, ago, _ := strings.Cut(value, "@")
		ago, template, _ := strings.Cut(ago, "/")
		n, _ := strconv.Atoi(times)
		w.annotate(c, FailureAnnotation, Failure{n, w.ago(ago), template}.String())
	case "coming":
		n.Object = nil
		delete(c.Conditions, snapshot.Registered)
		delete(c.Conditions, snapshot.Initialized)
		c.ProviderID = name(n)
		c.Labels = o.Labels
	case "id":
		c.ProviderID, o.Spec.ProviderID = value, value
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
	at, untried, created := "", false, ""
	for key, value := range pairs(words) {
		switch key {
		case "on":
			at = value
		case "app":
			p.Labels = map[string]string{key: value}
		case "of":
			version := map[string]string{"Node": "v1", "DaemonSet": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1"}[value]
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: value}}
		case "started":
			at := metav1.NewTime(w.ago(value))
			p.Status.StartTime = &at
		case "by": // a ReplicaSet
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: value, UID: types.UID(value), Controller: new(true)}}
		case "nominated": // by kube-scheduler
			p.Status.NominatedNodeName = value
		case "apart": // on another host than an app
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}},
			}}}
		case "even": // over the instance types with an app
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelInstanceTypeStable, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}},
			}}
		case "type":
			p.Spec.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: value}
		case "cost":
			p.Annotations[corev1.PodDeletionCost] = value
		case "do-not-disrupt":
			p.Annotations[eviction.DoNotDisruptAnnotation] = value
		case "cpu":
			p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse(value)},
			}}}
		case "created": // with so much cpu
			created = value
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
		case "untried": // since
			p.Status.Phase = corev1.PodPending
			p.CreationTimestamp = metav1.NewTime(w.ago(value))
			untried = true
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
	if created != "" {
		first := p.DeepCopy()
		first.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse(created)
		earlier := w.classes.Pod(first)
		w.classes.Follow(earlier, nil)
		w.classes.Follow(wrapped, earlier)
	}
	if n := w.s.Node(at); n != nil {
		n.Pods = append(n.Pods, wrapped)
	} else if untried {
		w.s.Untried = append(w.s.Untried, wrapped)
	} else {
		w.s.Pending = append(w.s.Pending, wrapped)
	}
}
