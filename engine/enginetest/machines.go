package enginetest

import (
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/engine/catalog"
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
	labels[corev1.LabelHostname] = name
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
	n := &snapshot.Node{Name: object.Name, Object: object, Claim: claim}
	switch option(c, "stage", "ready") {
	case "unlaunched":
		n.Object, claim.ProviderID, claim.Capacity, claim.Allocatable = nil, "", nil, nil
		claim.Requirements = requirement.NewSet(
			requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, kind.Name),
			requirement.Must(corev1.LabelTopologyZone, requirement.In, kind.Requirements.Get(corev1.LabelTopologyZone).Values()...))
		claim.Labels, claim.Requests = map[string]string{"karpenter.sh/nodepool": claim.Pool}, kind.Allocatable()
	case "launched":
		n.Object = nil
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
	count := number(t, option(c, "count", "1"))
	for i := range int(count) {
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
	if v, ok := c.Options["init-cpu"]; ok {
		p.Spec.InitContainers = append(p.Spec.InitContainers, container(t, "init", v, "0"))
	}
	if v, ok := c.Options["sidecar-cpu"]; ok {
		sidecar := container(t, "sidecar", v, "0")
		sidecar.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		p.Spec.InitContainers = append(p.Spec.InitContainers, sidecar)
	}
	if v, ok := c.Options["overhead-cpu"]; ok {
		p.Spec.Overhead = corev1.ResourceList{"cpu": quantity(t, v)}
	}
	if v, ok := c.Options["gate"]; ok {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v}}
	}
	if v, ok := c.Options["priority"]; ok {
		p.Spec.Priority = ptr.To(int32(number(t, v)))
	}
	if c.Has("device") {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device"}}
	}
	p.Status.Phase = corev1.PodPhase(c.Options["phase"])
	p.Status.NominatedNodeName = c.Options["nominated"]
	constrain(t, c, p)
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
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: expressions(term)})
		}
		affinity(p).NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}
	}
	for _, entry := range list(c.Options["tolerate"]) {
		name, effect, _ := strings.Cut(entry, ":")
		key, value, equal := strings.Cut(name, "=")
		toleration := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
		if equal {
			toleration.Operator, toleration.Value = corev1.TolerationOpEqual, value
		}
		p.Spec.Tolerations = append(p.Spec.Tolerations, toleration)
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

func affinity(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

// gather adds beside whom a pod may be: spread=KEY:SKEW:LABEL:VALUE,
// apart=KEY:LABEL:VALUE and near=KEY:LABEL:VALUE.
func gather(t testing.TB, c storytest.Command, p *corev1.Pod) {
	t.Helper()
	selector := func(words []string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{words[0]: words[1]}}
	}
	for _, entry := range list(c.Options["spread"]) {
		words := strings.Split(entry, ":")
		constraint := corev1.TopologySpreadConstraint{
			TopologyKey: labelName(words[0]), MaxSkew: int32(number(t, words[1])), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector(words[2:])}
		if v, ok := c.Options["min-domains"]; ok {
			constraint.MinDomains = ptr.To(int32(number(t, v)))
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, constraint)
	}
	term := func(words []string) corev1.PodAffinityTerm {
		return corev1.PodAffinityTerm{TopologyKey: labelName(words[0]), LabelSelector: selector(words[1:])}
	}
	for _, entry := range list(c.Options["apart"]) {
		a := affinity(p)
		if a.PodAntiAffinity == nil {
			a.PodAntiAffinity = &corev1.PodAntiAffinity{}
		}
		a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, term(strings.Split(entry, ":")))
	}
	for _, entry := range list(c.Options["near"]) {
		a := affinity(p)
		if a.PodAffinity == nil {
			a.PodAffinity = &corev1.PodAffinity{}
		}
		a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, term(strings.Split(entry, ":")))
	}
}
