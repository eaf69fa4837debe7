package cluster

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func testDaemonSet(version int, cpu string) *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{ObjectMeta: meta("agent", version)}
	ds.Namespace = "system"
	ds.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: "1"}
	ds.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c"}}
	if cpu != "" {
		ds.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	return ds
}

func daemonPod(name, cpu, node, generation string, age time.Duration) *corev1.Pod {
	p := testPod(name, 1, "")
	p.Namespace, p.Status.Conditions = "system", nil
	p.CreationTimestamp = metav1.NewTime(noon.Add(-age))
	p.Labels = map[string]string{generationLabel: generation}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent"}}
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}},
	}}}
	return p
}

func bound(p *corev1.Pod) *corev1.Pod {
	p.Spec.NodeName = intendedNode(p)
	return p
}

func limitRange(request string) *corev1.LimitRange {
	r := &corev1.LimitRange{ObjectMeta: meta("defaults", 1)}
	r.Namespace = "system"
	r.Spec.Limits = []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(request)}}}
	return r
}

func TestADaemonSetTakesOfANewNodeWhatItsNewestPodAsksFor(t *testing.T) {
	for name, test := range map[string]struct {
		objects []client.Object
		gone    client.Object
		node    string
		want    int64
	}{
		"the template, when there is nothing else":    {[]client.Object{testDaemonSet(1, "100m")}, nil, "", 100},
		"a LimitRange's default":                      {[]client.Object{testDaemonSet(1, ""), limitRange("300m")}, nil, "", 300},
		"a LimitRange that came first":                {[]client.Object{limitRange("300m"), testDaemonSet(1, "")}, nil, "", 300},
		"a LimitRange that is gone":                   {[]client.Object{limitRange("300m"), testDaemonSet(1, "")}, limitRange("300m"), "", 0},
		"a LimitRange where the template has its own": {[]client.Object{limitRange("300m"), testDaemonSet(1, "100m")}, nil, "", 100},
		"the newest pod":                              {[]client.Object{testDaemonSet(1, "100m"), bound(daemonPod("a", "700m", "n1", "1", time.Hour)), bound(daemonPod("b", "500m", "n2", "1", time.Minute))}, nil, "", 500},
		"the newest that is left": {[]client.Object{testDaemonSet(1, "100m"), bound(daemonPod("a", "700m", "n1", "1", time.Hour)), bound(daemonPod("b", "500m", "n2", "1", time.Minute))},
			bound(daemonPod("b", "500m", "n2", "1", time.Minute)), "", 700},
		"not a pod of an earlier template":  {[]client.Object{testDaemonSet(1, "100m"), bound(daemonPod("a", "700m", "n1", "0", time.Hour))}, nil, "", 100},
		"on a node, the pod that waits":     {[]client.Object{testDaemonSet(1, "100m"), daemonPod("a", "700m", "n1", "1", time.Hour), daemonPod("b", "500m", "n2", "1", 0)}, nil, "n1", 700},
		"on a node, what is not there yet":  {[]client.Object{testDaemonSet(1, "100m"), daemonPod("a", "700m", "n1", "1", time.Hour), daemonPod("b", "500m", "n2", "1", 0)}, nil, "n3", 500},
		"a pod that came before its set":    {[]client.Object{daemonPod("a", "700m", "n1", "1", 0), testDaemonSet(1, "100m")}, nil, "", 700},
		"a template that changes afterward": {[]client.Object{daemonPod("a", "700m", "n1", "0", 0), testDaemonSet(1, "100m"), testDaemonSet(2, "200m")}, nil, "", 200},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStore()
			for _, o := range test.objects {
				s.Update(o)
				s.Snapshot(noon, nil) // a list that was handed out must not hide what comes later
			}
			if test.gone != nil {
				s.Delete(test.gone)
			}
			list := s.Snapshot(noon, nil).DaemonSets
			if len(list) != 1 {
				t.Fatalf("%d DaemonSets", len(list))
			}
			q := list[0].On(test.node).Class.Requests.Get(corev1.ResourceCPU)
			if got := q.MilliValue(); got != test.want {
				t.Errorf("it takes %dm CPU, want %dm", got, test.want)
			}
		})
	}
}
