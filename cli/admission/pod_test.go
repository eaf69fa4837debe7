package admission

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func podOf(c corev1.Container) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
}

func TestLimitsStandInForMissingRequests(t *testing.T) {
	pod := podOf(corev1.Container{Resources: corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("4Gi")},
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
	}})
	Classes{}.Pod(pod)
	got := pod.Spec.Containers[0].Resources.Requests
	if got.Cpu().String() != "1" || got.Memory().String() != "4Gi" {
		t.Errorf("requests are %v", got)
	}
}

func TestPortsOfAPodOnTheHostNetworkAreHostPorts(t *testing.T) {
	pod := podOf(corev1.Container{Ports: []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP, HostPort: 5353}}})
	pod.Spec.HostNetwork = true
	Classes{}.Pod(pod)
	want := []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: corev1.ProtocolTCP}, {ContainerPort: 53, HostPort: 5353, Protocol: corev1.ProtocolUDP}}
	if got := pod.Spec.Containers[0].Ports; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPriorityComesFromTheClassOrTheGlobalDefault(t *testing.T) {
	classes := Classes{Priority: map[string]*schedulingv1.PriorityClass{
		"high":   {ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100, PreemptionPolicy: ptr.To(corev1.PreemptNever)},
		"common": {ObjectMeta: metav1.ObjectMeta{Name: "common"}, Value: 5, GlobalDefault: true},
		"other":  {ObjectMeta: metav1.ObjectMeta{Name: "other"}, Value: 7, GlobalDefault: true},
	}}
	for class, want := range map[string]*int32{
		"high": ptr.To[int32](100), "": ptr.To[int32](5), "system-node-critical": ptr.To[int32](2_000_001_000), "missing": nil,
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: class}}
		classes.Pod(pod)
		if !reflect.DeepEqual(pod.Spec.Priority, want) {
			t.Errorf("class %q: priority %v, want %v", class, ptr.Deref(pod.Spec.Priority, -1), ptr.Deref(want, -1))
		}
	}
}

func TestTheRuntimeClassAddsOverheadAndScheduling(t *testing.T) {
	toleration := corev1.Toleration{Key: "sandboxed", Operator: corev1.TolerationOpExists}
	classes := Classes{Runtime: map[string]*nodev1.RuntimeClass{"kata": {
		Overhead:   &nodev1.Overhead{PodFixed: corev1.ResourceList{"memory": resource.MustParse("128Mi")}},
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"runtime": "kata"}, Tolerations: []corev1.Toleration{toleration}},
	}}}
	pod := podOf(corev1.Container{})
	pod.Spec.RuntimeClassName = ptr.To("kata")
	for range 2 { // a second time changes nothing
		classes.Pod(pod)
	}
	if pod.Spec.Overhead.Memory().String() != "128Mi" || pod.Spec.NodeSelector["runtime"] != "kata" || !reflect.DeepEqual(pod.Spec.Tolerations, []corev1.Toleration{toleration}) {
		t.Errorf("got %+v", pod.Spec)
	}
}

func TestAClaimWithoutAClassGetsTheNewestDefault(t *testing.T) {
	class := func(name string, day int, isDefault string) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: metav1.Date(2026, 1, day, 0, 0, 0, 0, time.UTC),
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": isDefault},
		}}
	}
	classes := []*storagev1.StorageClass{class("old", 1, "true"), class("new", 2, "true"), class("newest", 3, "false")}
	for _, c := range []struct{ has, want *string }{
		{nil, ptr.To("new")}, {ptr.To("gp2"), ptr.To("gp2")}, {ptr.To(""), ptr.To("")},
	} {
		claim := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: c.has}}
		Claim(claim, classes)
		if !reflect.DeepEqual(claim.Spec.StorageClassName, c.want) {
			t.Errorf("class %v became %v", ptr.Deref(c.has, "none"), ptr.Deref(claim.Spec.StorageClassName, "none"))
		}
	}
}
