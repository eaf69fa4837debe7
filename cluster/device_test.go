package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// all selects every device.
type all struct{}

func (all) Check(string) error                            { return nil }
func (all) Selects(string, *catalog.Device) (bool, error) { return true, nil }

func TestClaimedDevicesCountWithWhatTheyAreMadeOf(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "gpu"}
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: meta}
	template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: 1}}}
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "d", NodeName: new("n"), Pool: resourcev1.ResourcePool{Name: "n", ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "0"}, {Name: "1"}},
	}}
	taken := &resourcev1.ResourceClaim{ObjectMeta: meta}
	taken.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "d", Pool: "n", Device: "0"}}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "c", ResourceClaimTemplateName: new("gpu")}}}}
	s := NewStore(Options{Offline: true, Devices: all{}})
	has := func(want int64) {
		t.Helper()
		q := s.Snapshot(time.Now(), nil).Nodes[0].Allocatable()[snapshot.DevicePrefix+"class gpu"]
		if q.Value() != want {
			t.Errorf("the Node has %s devices, want %d", q.String(), want)
		}
	}
	for _, o := range []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, pod, class, template, slice} {
		s.Update(o)
	}
	has(2)
	s.Update(taken)
	has(1)
	s.Delete(taken)
	has(2)
	for _, o := range []client.Object{slice, template, class} {
		s.Delete(o)
		has(0)
		s.Update(o)
		has(2)
	}
}
