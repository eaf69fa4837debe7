package devices

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

const exampleGPU = corev1.ResourceName("example.com/gpu")

// asking is a pod that asks for one of a resource.
func asking(classes *snapshot.Classes, name, node string, of corev1.ResourceName) *snapshot.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: node}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{of: resource.MustParse("1")}}}}
	return classes.Pod(p)
}

// byName is the world with a class that has the name of an extended resource.
func byName() (*snapshot.Snapshot, *Objects) {
	s, o := world()
	o.Classes["gpu"].Spec.ExtendedResourceName = new(string(exampleGPU))
	return s, o
}

// specialClaim is what kube-scheduler makes for a pod that it has given a device.
func specialClaim(pod, device string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: pod + "-extended-resources-x", Annotations: map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Pod", Name: pod, UID: types.UID(pod), Controller: new(true)}},
		},
		Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{
			Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "d", Pool: "n", Device: device}}},
			NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}},
			}}},
		}},
	}
}

// Where no device plugin offers it, an extended resource that a class has the name of is so many
// devices of the class, less those that others have, by that name or by claims.
func TestDevicesByTheNameOfAnExtendedResource(t *testing.T) {
	for _, of := range []corev1.ResourceName{exampleGPU, corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix + "gpu")} {
		var classes snapshot.Classes
		s, o := byName()
		s.Nodes[0].Pods = []*snapshot.Pod{asking(&classes, "runs", "n", of)}
		o.Claims[inDefault("runs")] = specialClaim("runs", "2")
		s.Pending = []*snapshot.Pod{asking(&classes, "x", "", of), podOf(&classes, "y", "", fromTemplate("any"))}
		out := NewCounter(plain{}).Count(s, o)
		both := corev1.ResourceName("devices of class gpu or " + string(of))
		for name, list := range map[string]corev1.ResourceList{"node": out.Nodes[0].Allocatable(), "type": out.Pools[0].Types[0].Capacity} {
			if amount(list, of) != 3 || amount(list, both) != 3 {
				t.Errorf("%s has %v", name, list)
			}
		}
		for _, p := range append(out.Pending, out.Nodes[0].Pods...) {
			if q := p.Class.Requests.Get(both); q.Value() != 1 {
				t.Errorf("%s asks for %s", p.Name, q.String())
			}
		}
		if known := out.Pools[0].Types[0].AsDevices; !slices.Equal(known, []corev1.ResourceName{of}) {
			t.Errorf("as devices %v", known)
		}
		drivers, resources := Drivers(out.Pending[:1], []catalog.Choice{{Type: out.Pools[0].Types[0]}})
		if len(drivers) > 0 || !slices.Equal(resources, []string{string(of) + "=d"}) {
			t.Errorf("drivers %v, resources %v", drivers, resources)
		}
	}
}

// kube-scheduler takes what a device plugin offers; claims have the devices nevertheless.
func TestADevicePluginComesBeforeDevices(t *testing.T) {
	var classes snapshot.Classes
	s, o := byName()
	s.Nodes[0].Object.Status.Allocatable[exampleGPU] = resource.MustParse("8")
	s.Nodes[0].Pods = []*snapshot.Pod{asking(&classes, "runs", "n", exampleGPU)}
	plugged := &catalog.Type{Name: "plugged", Capacity: corev1.ResourceList{exampleGPU: resource.MustParse("4")}}
	s.Pools[0].Types = append(s.Pools[0].Types, plugged)
	s.Pending = []*snapshot.Pod{podOf(&classes, "y", "", fromTemplate("any"))}
	out := NewCounter(plain{}).Count(s, o)
	const both = anyGPU + " or " + exampleGPU
	if list := out.Nodes[0].Allocatable(); amount(list, exampleGPU) != 8 || amount(list, anyGPU) != 3 || amount(list, both) != 11 {
		t.Errorf("the node has %v", list)
	}
	list := out.Pools[0].Types[1]
	_, resources := Drivers([]*snapshot.Pod{asking(&classes, "x", "", exampleGPU)}, []catalog.Choice{{Type: list}})
	if amount(list.Capacity, exampleGPU) != 4 || amount(list.Capacity, both) != 4 || !slices.Equal(resources, []string{string(exampleGPU)}) {
		t.Errorf("the type has %v, resources %v", list.Capacity, resources)
	}
}

// A pod to which kube-scheduler has just given a device needs no other, and goes where that is.
func TestAPodThatIsBeingBoundHasItsDevicesByName(t *testing.T) {
	var classes snapshot.Classes
	s, o := byName()
	s.Pending = []*snapshot.Pod{asking(&classes, "x", "", exampleGPU)}
	o.Claims[inDefault("x")] = specialClaim("x", "0")
	out := NewCounter(plain{}).Count(s, o).Pending[0].Class
	if q := out.Requests.Get(exampleGPU); q.Value() != 0 || len(out.Terms) != 1 || !out.Terms[0].Get(snapshot.NameField).Has("n") {
		t.Errorf("it asks for %s on %v", q.String(), out.Terms)
	}
}

func TestTheNewestClassOfANameCounts(t *testing.T) {
	old, late := metav1.NewTime(time.Unix(0, 0)), metav1.NewTime(time.Unix(9, 0))
	class := func(name string, made metav1.Time) *resourcev1.DeviceClass {
		return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: made}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: new(string(exampleGPU))}}
	}
	o := &Objects{Classes: map[string]*resourcev1.DeviceClass{"a": class("a", old), "b": class("b", late), "c": class("c", late)}}
	if got := o.named()[exampleGPU].Name; got != "b" {
		t.Errorf("class %s", got)
	}
}

// A pod that was resized in place and is planned for another node asks for its devices there, too.
func TestAPodThatWasResizedTakesItsDevicesAlong(t *testing.T) {
	var classes snapshot.Classes
	s, o := byName()
	created := asking(&classes, "x", "n", exampleGPU)
	classes.Follow(created, nil)
	smaller := created.Pod.DeepCopy()
	created.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
	created = classes.Pod(created.Pod)
	classes.Follow(created, nil)
	claim := "any"
	smaller.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimTemplateName: &claim}}
	p := classes.Pod(smaller)
	classes.Follow(p, created)
	s.Nodes[0].Pods = []*snapshot.Pod{p}
	again := NewCounter(plain{}).Count(s, o).Nodes[0].Pods[0].Again().Class
	cpu, gpu := again.Requests.Get(corev1.ResourceCPU), again.Requests.Get(anyGPU)
	if cpu.Value() != 2 || gpu.Value() != 1 || len(again.Devices) > 0 {
		t.Errorf("it asks for %s CPUs and %s devices, %v left", cpu.String(), gpu.String(), again.Devices)
	}
}
