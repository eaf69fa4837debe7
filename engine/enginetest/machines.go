package enginetest

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// node makes a machine of a known type at some stage of its life.
func (s *Scenario) node(t testing.TB, c storytest.Command) *snapshot.Node {
	t.Helper()
	name := c.Args[0]
	var kind *catalog.Type
	for _, known := range s.types {
		if known.Name == c.Options["type"] {
			kind = known
		}
	}
	if kind == nil {
		t.Fatalf("node %s: unknown type %s", name, c.Options["type"])
	}
	labels := pairs(c.Options["labels"])
	labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone] = kind.Name, option(c, "zone", "a")
	labels[corev1.LabelArchStable], labels[catalog.CapacityTypeLabel] = kind.Requirements.Get(corev1.LabelArchStable).Values()[0], option(c, "capacity", catalog.OnDemand)
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	object.Spec.Taints, object.Spec.Unschedulable = taints(c.Options["taints"]), c.Has("cordoned")
	object.Status.Capacity, object.Status.Allocatable = kind.Capacity, kind.Allocatable()
	if c.Has("allocatable") {
		object.Status.Allocatable = kind.Allocatable()
		maps.Copy(object.Status.Allocatable, amounts(t, c.Options["allocatable"]))
	}
	labels[corev1.LabelHostname] = name
	if c.Has("kubelet-ready") {
		object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	if c.Has("foreign") {
		return &snapshot.Node{Name: name, Object: object}
	}
	return s.managed(c, kind, object)
}

// managed puts a claim beside a Node, and takes away what is not there yet.
func (s *Scenario) managed(c storytest.Command, kind *catalog.Type, object *corev1.Node) *snapshot.Node {
	pool := s.Pool(c.Options["pool"])
	claim := &snapshot.Claim{
		Name: object.Name, UID: types.UID("claim-" + object.Name), Pool: c.Options["pool"], Labels: object.Labels,
		ProviderID: "test://" + object.Name, Capacity: kind.Capacity, Allocatable: kind.Allocatable(),
		Conditions: map[string]snapshot.Condition{},
	}
	if pool != nil {
		claim.Taints, claim.StartupTaints = pool.Taints, pool.StartupTaints
	}
	if c.Has("deleting") {
		claim.Deleted = now
	}
	if c.Has("ignores") {
		claim.Annotations = map[string]string{drain.IgnoresAnnotation: c.Options["ignores"]}
	}
	n := &snapshot.Node{Name: object.Name, Object: object, Claim: claim}
	switch option(c, "stage", "ready") {
	case "unlaunched":
		n.Object, claim.ProviderID, claim.Capacity, claim.Allocatable = nil, "", nil, nil
		claim.Requirements = requirement.NewSet(
			requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, list(option(c, "types", kind.Name))...),
			requirement.Must(corev1.LabelTopologyZone, requirement.In, kind.Requirements.Get(corev1.LabelTopologyZone).Values()...))
		draw(c, claim)
		claim.Labels, claim.Requests = map[string]string{"karpenter.sh/nodepool": claim.Pool}, kind.Allocatable()
	case "launched":
		n.Object = nil
	case "appeared":
		claim.Labels = maps.Clone(object.Labels)
		delete(claim.Labels, corev1.LabelHostname)
		object.Spec.Taints = append(object.Spec.Taints, corev1.Taint{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute})
	case "registered":
		object.Labels[snapshot.RegisteredLabel] = "true"
	case "ready":
		object.Labels[snapshot.RegisteredLabel], object.Labels[snapshot.InitializedLabel] = "true", "true"
	}
	return n
}

// pods makes count pods, pending or on a node.
func (s *Scenario) pods(t testing.TB, c storytest.Command) {
	t.Helper()
	count := storytest.Number(t, option(c, "count", "1"))
	for i := range count {
		p := s.classes.Pod(pod(t, c, fullName(c.Args[0], i+1, count)))
		if !c.Has("on") {
			s.Pending = append(s.Pending, p)
			continue
		}
		n := s.Node(c.Options["on"])
		if n == nil {
			t.Fatalf("pod %s: unknown node %s", p.Name, c.Options["on"])
		}
		p.Spec.NodeName = n.Name
		n.Pods = append(n.Pods, p)
	}
}

func (s *Scenario) daemonSet(t testing.TB, c storytest.Command) {
	t.Helper()
	p := pod(t, c, c.Args[0])
	s.DaemonSets = append(s.DaemonSets, &snapshot.DaemonSet{
		DaemonSet: &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}},
		Pod:       s.classes.Pod(p),
	})
}

func buffer(t testing.TB, c storytest.Command, classes *snapshot.Classes) *snapshot.Buffer {
	t.Helper()
	p := pod(t, c, c.Args[0])
	p.UID = ""
	return &snapshot.Buffer{Namespace: p.Namespace, Name: p.Name, Chunk: classes.Pod(p), Count: storytest.Number(t, option(c, "count", "1"))}
}

func pod(t testing.TB, c storytest.Command, name string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: option(c, "namespace", "default"), Name: name, UID: types.UID("pod-" + name), Labels: pairs(c.Options["labels"])}}
	p.Spec.Containers = []corev1.Container{container(t, "main", option(c, "cpu", "0"), option(c, "memory", "0"))}
	p.Spec.NodeSelector = pairs(c.Options["select"])
	requests := p.Spec.Containers[0].Resources.Requests
	for resource, name := range map[string]corev1.ResourceName{"gpu": "nvidia.com/gpu", "storage": "ephemeral-storage"} {
		if v, ok := c.Options[resource]; ok {
			requests[name] = quantity(t, v)
		}
	}
	if v, ok := c.Options["gate"]; ok {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v}}
	}
	if v, ok := c.Options["priority"]; ok {
		p.Spec.Priority = ptr.To(int32(storytest.Number(t, v)))
	}
	p.Status.Phase = corev1.PodPhase(c.Options["phase"])
	p.Status.NominatedNodeName = c.Options["nominated"]
	constrain(t, c, p)
	demand(t, c, p)
	circumstances(t, c, p)
	own(c, p)
	return p
}

func container(t testing.TB, name, cpu, memory string) corev1.Container {
	t.Helper()
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": quantity(t, cpu), "memory": quantity(t, memory)}}}
}

func own(c storytest.Command, p *corev1.Pod) {
	if kind, name, ok := strings.Cut(c.Options["owner"], "/"); ok {
		version := "apps/v1"
		if kind == "Node" {
			version = "v1"
		}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name}}
	}
}

// constrain adds where a pod may go.
func constrain(t testing.TB, c storytest.Command, p *corev1.Pod) {
	t.Helper()
	if v, ok := c.Options["affinity"]; ok {
		required := &corev1.NodeSelector{}
		for _, term := range strings.Split(v, "|") {
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, selectorTerm(term))
		}
		affinity(p).NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}
	}
	for _, entry := range list(c.Options["tolerate"]) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, toleration(entry))
	}
	for _, entry := range list(c.Options["ports"]) {
		address, protocol, _ := strings.Cut(entry, "/")
		ip, port := "", address
		if i := strings.LastIndex(address, ":"); i >= 0 {
			ip, port = address[:i], address[i+1:]
		}
		n, err := strconv.ParseInt(port, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, corev1.ContainerPort{HostIP: ip, HostPort: int32(n), ContainerPort: int32(n), Protocol: corev1.Protocol(protocol)})
	}
	for _, name := range list(c.Options["claims"]) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
	}
	gather(t, c, p)
}

// selectorTerm reads expressions, of which those about "name" are about the name
// of the node.
func selectorTerm(s string) corev1.NodeSelectorTerm {
	var out corev1.NodeSelectorTerm
	for _, e := range expressions(s) {
		if e.Key == "name" {
			e.Key = metav1.ObjectNameField
			out.MatchFields = append(out.MatchFields, e)
			continue
		}
		out.MatchExpressions = append(out.MatchExpressions, e)
	}
	return out
}

// toleration reads key, key=value, key<number and key>number, each with or without
// an effect; "*" is any key.
func toleration(s string) corev1.Toleration {
	name, effect, _ := strings.Cut(s, ":")
	out := corev1.Toleration{Key: name, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
	for sign, op := range map[string]corev1.TolerationOperator{"=": corev1.TolerationOpEqual, "<": corev1.TolerationOpLt, ">": corev1.TolerationOpGt} {
		if key, value, ok := strings.Cut(name, sign); ok {
			out.Key, out.Operator, out.Value = key, op, value
		}
	}
	if out.Key == "*" {
		out.Key = ""
	}
	return out
}

func affinity(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}
