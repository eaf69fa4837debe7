package bound

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/bench/fleet"
	"github.com/millwright-dev/millwright/bench/workload"
)

func TestPodsThatMustNotShareAMachineAreBoundByAMachineEach(t *testing.T) {
	p := workload.Workload{Pods: workload.Identical(6, 100, 128)}.Problem(fleet.Small(), 1)
	terms := []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, TopologyKey: corev1.LabelHostname,
	}}
	// One of them has the rule but is not among those it names.
	for i, pod := range p.Pods {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
		if i > 0 {
			pod.Labels = map[string]string{"app": "web"}
		}
	}
	c, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	apart, err := c.Of(p.Pods[1:])
	if err != nil {
		t.Fatal(err)
	}
	// Of the smallest machines, which cost 2 * 0.036.
	near(t, "bound", apart.PerHour, 5*0.072)
	all, err := c.Of(p.Pods)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "bound of all", all.PerHour, apart.PerHour)
}

func TestPodsWithTheSameHostPortAreBoundByAMachineEach(t *testing.T) {
	p := workload.Workload{Pods: workload.Identical(6, 100, 128)}.Problem(fleet.Small(), 1)
	for i, pod := range p.Pods {
		// Of two ports; one pod has both.
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: int32(8080 + i%2)}}
	}
	p.Pods[0].Spec.Containers[0].Ports = append(p.Pods[0].Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: 81, HostPort: 8081})
	c, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Of(p.Pods)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "bound", b.PerHour, 4*0.072)
}
