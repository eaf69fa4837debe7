package headroom

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var (
	noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)
	all  = noon.Add(-time.Hour)
)

// machine has four cores and pods of a core that started so long ago.
func machine(name string, started ...time.Duration) *snapshot.Node {
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("20")}
	n := &snapshot.Node{Name: name, Object: o, Claim: &snapshot.Claim{}}
	var classes snapshot.Classes
	for i, ago := range started {
		p := enginetest.Pod(fmt.Sprintf("%s-%d", name, i), 1000, 256)
		at := metav1.NewTime(noon.Add(-ago))
		p.Spec.NodeName, p.Status.StartTime = name, &at
		n.Pods = append(n.Pods, classes.Pod(p))
	}
	return n
}

func TestThereMustBeRoomForWhatStartedWithinASpan(t *testing.T) {
	const long = 2 * time.Hour
	for _, c := range []struct {
		says     string
		machines []*snapshot.Node
		suffices bool
	}{
		{"nothing has come", []*snapshot.Node{machine("a"), machine("b", long, long, long, long)}, true},
		{"as much again fits", []*snapshot.Node{machine("a"), machine("b", time.Minute, time.Minute)}, true},
		{"as much again does not fit", []*snapshot.Node{machine("a"), machine("b", time.Minute, time.Minute, long)}, false},
		{"it fits on a third", []*snapshot.Node{machine("a"), machine("b", time.Minute, time.Minute, long), machine("c", long)}, true},
		{"within thirty minutes", []*snapshot.Node{machine("a"), machine("b", 31*time.Minute, 48*time.Minute, long)}, false},
		{"not within thirty minutes", []*snapshot.Node{machine("a"), machine("b", 5*time.Minute, 45*time.Minute, long)}, true},
		{"before the hour", []*snapshot.Node{machine("a"), machine("b", 61*time.Minute, 62*time.Minute, 63*time.Minute)}, true},
		{"on the machine that goes", []*snapshot.Node{machine("a", time.Minute, time.Minute), machine("b", long, long, long)}, false},
	} {
		if _, suffices := New(c.machines, all, noon).Without(c.machines[:1], nil, nil); suffices != c.suffices {
			t.Errorf("%s: %t", c.says, suffices)
		}
	}
}

func TestPodsOfJobsAreLeftOut(t *testing.T) {
	b := machine("b", time.Minute, time.Minute, time.Minute)
	for _, p := range b.Pods {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: p.Name, Controller: new(true)}}
	}
	machines := []*snapshot.Node{machine("a"), b}
	if _, suffices := New(machines, all, noon).Without(machines[:1], nil, nil); !suffices {
		t.Error("room is kept for pods of Jobs")
	}
}

func TestWhatIsPlacedTakesRoomAndWhatIsLaunchedBringsSome(t *testing.T) {
	a, b := machine("a", time.Hour+time.Minute), machine("b", time.Minute)
	r := New([]*snapshot.Node{a, b}, all, noon)
	here := []plan.Placement{{Pod: a.Pods[0], Node: b}}
	left, suffices := r.Without([]*snapshot.Node{a}, here, nil)
	if !suffices || !left.First.Equal(noon.Add(-time.Minute)) {
		t.Errorf("three of four cores are free for one pod: %t, first %s", suffices, left.First)
	}
	if _, suffices = r.Without([]*snapshot.Node{a}, []plan.Placement{here[0], here[0], here[0]}, nil); suffices {
		t.Error("all four cores are taken")
	}
	small := catalog.Choice{Type: &catalog.Type{Name: "small", Capacity: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("4Gi"), "pods": resource.MustParse("9")}}}
	for cpu, want := range map[string]bool{"1": true, "1500m": false} {
		fresh := plan.NewNode{Choice: small, Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}
		if _, suffices = r.Without([]*snapshot.Node{a, b}, nil, []plan.NewNode{fresh}); suffices != want {
			t.Errorf("with %s of two cores taken: %t", cpu, suffices)
		}
	}
}

func TestManySizesAreTakenTogetherWithoutLosingAnyPod(t *testing.T) {
	var list []bundle
	for i := range int64(1000) {
		list = append(list, bundle{need: []int64{1000 - i, i}, count: 1 + i%3})
	}
	pods, cpu, coarsePods, coarseCPU := int64(0), int64(0), int64(0), int64(0)
	for _, b := range list {
		pods, cpu = pods+b.count, cpu+b.count*b.need[0]
	}
	out := coarse(list)
	for _, b := range out {
		coarsePods, coarseCPU = coarsePods+b.count, coarseCPU+b.count*b.need[0]
	}
	if len(out) > most || coarsePods != pods || coarseCPU < cpu || coarseCPU > cpu+pods {
		t.Errorf("%d sizes, %d of %d pods, %d of %d CPU", len(out), coarsePods, pods, coarseCPU, cpu)
	}
}

// Workloads that ask for the same are different classes, which have no order.
func TestTheSamePodsGiveTheSameRoom(t *testing.T) {
	n := machine("a")
	var classes snapshot.Classes
	at := metav1.NewTime(noon.Add(-time.Minute))
	for size := range most + most/4 { // three at a time, so that one of two is cut off
		for i, workload := range []string{"x", "y", "y"} {
			p := enginetest.Pod(fmt.Sprint("p", size, "-", i), int64(100+size), 256)
			p.Labels = map[string]string{"app": workload}
			p.Spec.NodeName, p.Status.StartTime = n.Name, &at
			n.Pods = append(n.Pods, classes.Pod(p))
		}
	}
	want := New([]*snapshot.Node{n}, all, noon)
	for range 20 {
		if got := New([]*snapshot.Node{n}, all, noon); !reflect.DeepEqual(got, want) {
			t.Fatal("the sizes of pods are taken together in another way")
		}
	}
}
