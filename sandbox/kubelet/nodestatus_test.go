package kubelet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func testFacts() facts {
	return facts{ready: true, now: time.Unix(1_700_000_000, 0), ip: "10.1.0.1", boot: "b", version: "v1.2.3"}
}

func TestReportKeepsWhatTheCreatorSet(t *testing.T) {
	have := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelArchStable: "arm64"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Capacity:  corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}},
		},
	}
	got := report(have, testFacts())
	if !equality.Semantic.DeepEqual(got.Spec, have.Spec) {
		t.Errorf("spec is now %v", got.Spec)
	}
	if cpu := got.Status.Allocatable.Cpu(); cpu.String() != "2" {
		t.Errorf("allocatable is %v CPU", cpu)
	}
	if ip := nodeAddress(&got.Status, corev1.NodeInternalIP); ip != "192.0.2.1" {
		t.Errorf("address is %s", ip)
	}
	if arch := got.Status.NodeInfo.Architecture; arch != "arm64" {
		t.Errorf("architecture is %s", arch)
	}
}

func TestReportIsStable(t *testing.T) {
	first := report(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, testFacts())
	later := testFacts()
	later.now = later.now.Add(time.Hour)
	if second := report(first, later); !equality.Semantic.DeepEqual(first, second) {
		t.Errorf("got\n%v\nwant\n%v", second, first)
	}
}

func TestReportCorrectsWhatTheControlPlaneConcluded(t *testing.T) {
	n := report(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, testFacts())
	for i := range n.Status.Conditions {
		n.Status.Conditions[i].Status = corev1.ConditionUnknown
	}
	if got := readyStatus(report(n, testFacts())); got != corev1.ConditionTrue {
		t.Errorf("Ready is %s", got)
	}
}
