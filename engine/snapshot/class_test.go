package snapshot

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func webPod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("web-%d", i),
			Labels: map[string]string{"app": "web", "pod-template-hash": "5d8f7c9b4", "tier": "front"},
		},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"kubernetes.io/arch": "arm64"},
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")},
				Limits:   corev1.ResourceList{"memory": resource.MustParse("1Gi")},
			}}},
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr.To[int64](300)},
				{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr.To[int64](300)},
			},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

func TestPodsThatDifferInNameOnlyShareAClass(t *testing.T) {
	var c Classes
	if c.Pod(webPod(1)).Class != c.Pod(webPod(2)).Class {
		t.Error("two replicas got different classes")
	}
}

// That a node takes a pod before others is no difference for where it is planned.
func TestATolerationOfThePlannedTaintMakesNoClass(t *testing.T) {
	var c Classes
	admitted := webPod(2)
	admitted.Spec.Tolerations = append(admitted.Spec.Tolerations, corev1.Toleration{Key: PlannedTaint, Value: "uid", Effect: "NoSchedule"})
	if one, other := c.Pod(webPod(1)).Class, c.Pod(admitted).Class; one != other {
		t.Errorf("tolerating %v and %v", one.Tolerations, other.Tolerations)
	}
}

func TestEveryFieldThatPlacementSeesMakesAClassOfItsOwn(t *testing.T) {
	term := corev1.PodAffinityTerm{TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{}}
	required := func(expr ...corev1.NodeSelectorRequirement) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: expr}}}}}
	}
	changes := map[string]func(p *corev1.Pod){
		"namespace":    func(p *corev1.Pod) { p.Namespace = "other" },
		"labels":       func(p *corev1.Pod) { p.Labels["tier"] = "back" },
		"nodeSelector": func(p *corev1.Pod) { p.Spec.NodeSelector["a"] = "b" },
		"affinity": func(p *corev1.Pod) {
			p.Spec.Affinity = required(corev1.NodeSelectorRequirement{Key: "a", Operator: "Exists"})
		},
		"affinity values": func(p *corev1.Pod) {
			p.Spec.Affinity = required(corev1.NodeSelectorRequirement{Key: "a", Operator: "In", Values: []string{"b"}})
		},
		"pod affinity": func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
		},
		"pod anti-affinity": func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
		},
		"toleration": func(p *corev1.Pod) { p.Spec.Tolerations[0].Effect = "NoSchedule" },
		"spread": func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone"}}
		},
		"spread policy": func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", NodeTaintsPolicy: ptr.To(corev1.NodeInclusionPolicyHonor)}}
		},
		"host port": func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		},
		"host network": func(p *corev1.Pod) {
			p.Spec.HostNetwork = true
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 81}}
		},
		"claim": func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		},
		"device":       func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} },
		"priority":     func(p *corev1.Pod) { p.Spec.Priority = ptr.To[int32](10) },
		"request":      func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("501m") },
		"fine request": func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("500100u") },
		"limit alone":  func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"] = resource.MustParse("1") },
		"overhead":     func(p *corev1.Pod) { p.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("1m")} },
		"pod level": func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("4")}}
		},
		"init container": func(p *corev1.Pod) { p.Spec.InitContainers = p.Spec.Containers },
		"sidecar": func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{p.Spec.Containers[0]}
			p.Spec.InitContainers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		},
		"resize": func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}}}}
		},
	}
	var c Classes
	seen := map[*Class]string{c.Pod(webPod(0)).Class: "unchanged"}
	for name, change := range changes {
		pod := webPod(0)
		change(pod)
		class := c.Pod(pod).Class
		if other, ok := seen[class]; ok {
			t.Errorf("a pod with another %s has the class of %q", name, other)
		}
		seen[class] = name
	}
}

func TestSpellingsOfOneAmountAreOneClass(t *testing.T) {
	var c Classes
	pod := webPod(0)
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("0.5"), "memory": resource.MustParse("1024Mi")}
	if c.Pod(pod).Class != c.Pod(webPod(1)).Class {
		t.Error("0.5 and 500m, 1024Mi and 1Gi got different classes")
	}
}

func TestPodsOfOneWorkloadThatDifferInSizeShareAShape(t *testing.T) {
	var c Classes
	pod := webPod(0)
	pod.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2")
	a, b := c.Pod(pod).Class, c.Pod(webPod(1)).Class
	if a == b || a.Shape != b.Shape {
		t.Error("want two classes of one shape")
	}
}

func TestRequestsCountWhatTheSchedulerCounts(t *testing.T) {
	cpu := func(s string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(s)}}
	}
	always := ptr.To(corev1.ContainerRestartPolicyAlways)
	tests := map[string]struct {
		spec   corev1.PodSpec
		status corev1.PodStatus
		want   string
	}{
		"one container asks alone":     {spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: cpu("300m")}}}, want: "300m"},
		"containers add up":            {spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: cpu("1")}, {Resources: cpu("2")}}}, want: "3"},
		"a big init container decides": {spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: cpu("1")}}, InitContainers: []corev1.Container{{Resources: cpu("4")}}}, want: "4"},
		"a sidecar adds to both": {spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Resources: cpu("1")}},
			InitContainers: []corev1.Container{{RestartPolicy: always, Resources: cpu("2")}, {Resources: cpu("3")}}}, want: "5"},
		"overhead comes on top": {spec: corev1.PodSpec{Overhead: corev1.ResourceList{"cpu": resource.MustParse("250m")}, Containers: []corev1.Container{{Resources: cpu("1")}}}, want: "1250m"},
		"a limit stands in for a request": {spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"cpu": resource.MustParse("7")}}}}}, want: "7"},
		"a resize counts at its larger end": {spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Resources: cpu("1")}}},
			status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "a", Resources: ptr.To(cpu("6"))}}}, want: "6"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var c Classes
			got := c.Pod(&corev1.Pod{Spec: tt.spec, Status: tt.status}).Class.Requests
			cpu, pods := got.Get(corev1.ResourceCPU), got.Get(corev1.ResourcePods)
			if cpu.Cmp(resource.MustParse(tt.want)) != 0 {
				t.Errorf("cpu is %s, want %s", cpu.String(), tt.want)
			}
			if pods.Value() != 1 {
				t.Errorf("pods is %s, want 1", pods.String())
			}
		})
	}
}

func TestTermsAreSelectorAndOneAffinityTerm(t *testing.T) {
	affinity := func(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
	in := func(key string, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: "In", Values: values}}}
	}
	field := func(key string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: key, Operator: "In", Values: []string{"n"}}}}
	}
	tests := map[string]struct {
		affinity *corev1.Affinity
		want     string
		invalid  string
	}{
		"no affinity":                     {nil, "[a In [b]]", ""},
		"terms are alternatives":          {affinity(in("z", "1"), in("z", "2")), "[a In [b], z In [1] a In [b], z In [2]]", ""},
		"an empty term is no term":        {affinity(corev1.NodeSelectorTerm{}, in("z", "1")), "[a In [b], z In [1]]", ""},
		"only empty terms is an error":    {affinity(corev1.NodeSelectorTerm{}), "[]", "required node affinity has no term that could match a node"},
		"a contradiction is no term":      {affinity(in("a", "c"), in("z", "1")), "[a In [b], z In [1]]", ""},
		"only contradictions is an error": {affinity(in("a", "c")), "[]", "nodeSelector and required node affinity contradict each other about a"},
		"a node can be asked for by name": {affinity(in("z", "1"), field("metadata.name")), "[a In [b], z In [1] a In [b], metadata.name In [n]]", ""},
		"a node has no other fields":      {affinity(field("metadata.uid")), "[]", "node affinity term 1: matchFields: metadata.uid In [n]: want metadata.name, In or NotIn, and one value"},
		"the name is not a label":         {affinity(in("metadata.name", "n")), "[]", "node affinity term 1: matchExpressions: metadata.name is not a label"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var c Classes
			class := c.Pod(&corev1.Pod{Spec: corev1.PodSpec{NodeSelector: map[string]string{"a": "b"}, Affinity: tt.affinity}}).Class
			if class.Invalid != tt.invalid {
				t.Errorf("invalid is %q, want %q", class.Invalid, tt.invalid)
			}
			if got := fmt.Sprint(class.Terms); got != tt.want {
				t.Errorf("terms are %s, want %s", got, tt.want)
			}
		})
	}
}

func BenchmarkPodOfAKnownClass(b *testing.B) {
	var c Classes
	pod := webPod(0)
	c.Pod(pod)
	b.ReportAllocs()
	for b.Loop() {
		c.Pod(pod)
	}
}

func BenchmarkPodOfANewClass(b *testing.B) {
	var c Classes
	b.ReportAllocs()
	i := int64(0)
	for b.Loop() {
		i++
		pod := webPod(0)
		pod.Spec.Containers[0].Resources.Requests["cpu"] = *resource.NewMilliQuantity(i, resource.DecimalSI)
		c.Pod(pod)
	}
}
