package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestStories(t *testing.T) {
	storytest.Run(t, "testdata", func() storytest.World { return newWorld().do })
}

// world is one claim and its Nodes. The commands are the methods' names.
type world struct {
	view    lifecycle.View
	refused map[catalog.Key]bool
}

func newWorld() *world {
	w := &world{refused: map[catalog.Key]bool{}}
	w.view.Now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	w.view.Claim = &snapshot.Claim{
		Name: "c", UID: "uid-c", Created: w.view.Now, Conditions: map[string]snapshot.Condition{},
		Labels: map[string]string{"team": "a"}, Annotations: map[string]string{},
	}
	w.view.Types = []*catalog.Type{machineType("large", "4"), machineType("small", "2")}
	w.view.Refused = func(k catalog.Key) bool { return w.refused[k] }
	return w
}

func machineType(name, cpu string) *catalog.Type {
	q := resource.MustParse(cpu)
	price := float64(q.Value())
	return &catalog.Type{
		Name:         name,
		Requirements: requirement.FromLabels(map[string]string{corev1.LabelInstanceTypeStable: name}),
		Capacity:     corev1.ResourceList{corev1.ResourceCPU: q},
		Offerings: []catalog.Offering{
			{Zone: "a", CapacityType: catalog.OnDemand, Price: price, Available: true},
			{Zone: "a", CapacityType: catalog.Spot, Price: price / 3, Available: true},
			{Zone: "b", CapacityType: catalog.Spot, Price: price / 2, Available: true},
		},
	}
}

func (w *world) do(t *testing.T, c storytest.Command) string {
	switch c.Name {
	case "claim":
		w.claim(t, c)
	case "condition":
		status := c.Options["status"]
		w.view.Claim.Conditions[c.Args[0]] = snapshot.Condition{Status: corev1.ConditionStatus(status), Reason: c.Options["reason"], Message: c.Options["message"], Since: w.view.Now}
	case "answered": // an attempt to launch, with a reason
		reason := c.Args[0]
		if waits := lifecycle.Throttled(w.view.Claim, reason, w.view.Now); waits != "" {
			w.view.Claim.Annotations[lifecycle.ThrottledAnnotation] = waits
		}
		w.set(plan.Condition{Type: snapshot.Launched, Status: corev1.ConditionUnknown, Reason: reason, Message: "said"})
	case "launched":
		w.view.Claim.ProviderID = "p"
		w.set(plan.Condition{Type: snapshot.Launched, Status: corev1.ConditionTrue, Reason: snapshot.Launched})
	case "refuse":
		w.refused[catalog.Key{Type: c.Args[0], Zone: c.Args[1], CapacityType: c.Args[2]}] = true
	case "node":
		w.node(t, c)
	case "held":
		w.view.Hold = nomination.Hold{Until: w.view.Now.Add(nomination.Grace)}
		for _, name := range c.Args {
			w.view.Hold.For = append(w.view.Hold.For, plan.ObjectRef{Kind: "Pod", Namespace: "default", Name: name})
		}
	case "released":
		w.view.Hold = nomination.Hold{}
	case "awaits":
		w.view.Awaited = nil
		for _, name := range c.Args {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
			if !c.Has("refused") {
				pod.Spec.Tolerations = []corev1.Toleration{{Key: snapshot.PlannedTaint, Operator: corev1.TolerationOpEqual, Value: string(w.view.Claim.UID), Effect: corev1.TaintEffectNoSchedule}}
			}
			w.view.Awaited = append(w.view.Awaited, new(snapshot.Classes).Pod(pod))
		}
	case "strip":
		w.find(c.Args[0]).Finalizers = nil
	case "untaint":
		w.find(c.Args[0]).Spec.Taints = slices.DeleteFunc(w.find(c.Args[0]).Spec.Taints, func(x corev1.Taint) bool { return x.Key == c.Args[1] })
	case "slice":
		w.slice(c)
	case "policy", "daemonset", "pod", "csinode", "volume", "learned":
		w.agents(t, c)
	case "after":
		w.view.Now = w.view.Now.Add(storytest.Duration(t, c.Args[0]))
	case "next":
		return w.next()
	case "show":
		return w.show(c.Args[0])
	default:
		t.Fatalf("unknown command %s", c.Name)
	}
	return ""
}

// next carries out what a controller would, all but the launch.
func (w *world) next() string {
	v := w.view
	v.Nodes, v.Foreign = v.Claim.Own(w.view.Nodes)
	step := lifecycle.Decide(v)
	w.carryOut(step)
	text := step.String()
	if reason, found := v.DuplicateNodes(); found {
		text = strings.TrimSuffix(text, "\n") + "\nwarning: " + reason.Message()
	}
	return text
}

func (w *world) carryOut(step lifecycle.Step) {
	if step.Node != nil {
		step.Node.Apply(w.view.Nodes[0])
	}
	if step.NodeName != "" {
		w.view.Claim.NodeName = step.NodeName
	}
	for _, c := range step.Conditions {
		w.set(c)
	}
	for key, value := range step.Annotations {
		if w.view.Claim.Annotations[key] = value; value == "" {
			delete(w.view.Claim.Annotations, key)
		}
	}
}

func (w *world) set(c plan.Condition) {
	since := w.view.Claim.Conditions[c.Type].Since
	if old, ok := w.view.Claim.Conditions[c.Type]; !ok && c.Status == corev1.ConditionUnknown {
		since = w.view.Claim.Created
	} else if old.Status != c.Status {
		since = w.view.Now
	}
	w.view.Claim.Conditions[c.Type] = snapshot.Condition{Status: c.Status, Reason: c.Reason, Message: c.Message, Since: since}
}

func (w *world) claim(t *testing.T, c storytest.Command) {
	claim := w.view.Claim
	for _, k := range slices.Sorted(maps.Keys(c.Options)) {
		v := c.Options[k]
		switch k {
		case "planned":
			claim.Annotations[lifecycle.PlannedAnnotation] = v
		case "drivers":
			claim.Annotations[lifecycle.DRADriversAnnotation] = v
		case "device-resources":
			claim.Annotations[lifecycle.DeviceResourcesAnnotation] = v
		case "taint":
			claim.Taints = append(claim.Taints, taint(t, v))
		case "startup-taint":
			claim.StartupTaints = append(claim.StartupTaints, taint(t, v))
		case "pre-boot-id":
			claim.Annotations["karpenter.sh/reboot-pre-boot-id"] = v
		case "bare":
			claim.Annotations[lifecycle.JoinsBareAnnotation] = "true"
		case "deleted":
			claim.Deleted = w.view.Now
		case "zone":
			claim.Requirements = claim.Requirements.With(requirement.Must(corev1.LabelTopologyZone, requirement.In, v))
		default: // a resource
			if claim.Requests == nil {
				claim.Requests = corev1.ResourceList{}
			}
			claim.Requests[corev1.ResourceName(k)] = resource.MustParse(v)
		}
	}
}

func (w *world) find(name string) *corev1.Node {
	for _, n := range w.view.Nodes {
		if n.Name == name {
			return n
		}
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, CreationTimestamp: metav1.NewTime(w.view.Now)}}
	w.view.Nodes = append(w.view.Nodes, n)
	return n
}

func (w *world) node(t *testing.T, c storytest.Command) {
	if c.Has("gone") {
		w.view.Nodes = slices.DeleteFunc(w.view.Nodes, func(n *corev1.Node) bool { return n.Name == c.Args[0] })
		return
	}
	n := w.find(c.Args[0])
	for _, k := range slices.Sorted(maps.Keys(c.Options)) {
		v := c.Options[k]
		switch {
		case k == "ready":
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionStatus(v), Reason: "Kubelet", LastTransitionTime: metav1.NewTime(w.view.Now)}}
		case k == "taint":
			n.Spec.Taints = append(n.Spec.Taints, taint(t, v))
		case k == "joins":
			n.Spec.Taints = append(n.Spec.Taints, lifecycle.Unregistered)
			n.Spec.Taints = append(n.Spec.Taints, slices.Concat(w.view.Claim.Taints, w.view.Claim.StartupTaints)...)
		case k == "provider-id":
			n.Spec.ProviderID = v
		case k == "address":
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: v}}
		case k == "zone":
			n.Labels[corev1.LabelTopologyZone] = v
		case strings.HasPrefix(k, "condition-"):
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
				Type: corev1.NodeConditionType(strings.TrimPrefix(k, "condition-")), Status: corev1.ConditionStatus(v), LastTransitionTime: metav1.NewTime(w.view.Now),
			})
		case k == "boot":
			n.Status.NodeInfo.BootID = v
		case k == "unregistered":
			n.Spec.Taints = append(n.Spec.Taints, lifecycle.Unregistered)
		case k == "do-not-sync-taints":
			n.Labels[lifecycle.DoNotSyncTaintsLabel] = "true"
		case k == c.Args[0]:
		default: // a resource
			if n.Status.Allocatable == nil {
				n.Status.Allocatable = corev1.ResourceList{}
			}
			n.Status.Allocatable[corev1.ResourceName(k)] = resource.MustParse(v)
		}
	}
}

func (w *world) slice(c storytest.Command) {
	var of, generation int64
	fmt.Sscan(c.Options["of"], &of)
	fmt.Sscan(c.Options["generation"], &generation)
	w.view.Slices = append(w.view.Slices, &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{
		Driver: c.Args[0], Pool: resourcev1.ResourcePool{Name: "n", Generation: generation, ResourceSliceCount: of},
	}})
}

func (w *world) show(name string) string {
	n := w.find(name)
	out := ""
	for _, x := range n.Spec.Taints {
		out += "taint " + x.ToString() + "\n"
	}
	for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
		out += "label " + k + "=" + n.Labels[k] + "\n"
	}
	return out
}

func taint(t *testing.T, s string) corev1.Taint {
	key, effect, ok := strings.Cut(s, ":")
	if !ok {
		t.Fatalf("a taint reads key:effect, not %q", s)
	}
	return corev1.Taint{Key: key, Effect: corev1.TaintEffect(effect)}
}

func TestPlannedIsReadAsItIsWritten(t *testing.T) {
	k := catalog.Key{Type: "m5.large", Zone: "us-east-1a", CapacityType: "spot"}
	if got, err := lifecycle.ParsePlanned(lifecycle.FormatPlanned(k)); err != nil || got != k {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "a/b", "a//c", "a/b/c/d"} {
		if _, err := lifecycle.ParsePlanned(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
