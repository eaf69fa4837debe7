package whatif

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// full is a world of two machines of 4 CPUs with a pod of 3 each, and a pool that
// sells more.
func full() *World {
	types := enginetest.Catalogue(32)
	var classes snapshot.Classes
	s := &snapshot.Snapshot{Pools: []*snapshot.Pool{enginetest.Pool("general", types, enginetest.OnDemand())}}
	for _, name := range []string{"a", "b"} {
		n := &snapshot.Node{Name: name, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}}
		n.Object.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("10")}
		p := enginetest.Pod("on-"+name, 3000, 256)
		p.Spec.NodeName, p.Status.Phase = name, corev1.PodRunning
		n.Pods = append(n.Pods, classes.Pod(p))
		s.Nodes = append(s.Nodes, n)
	}
	return New(s, &plan.Plan{}, placement.Options{})
}

func TestAQuestionLeavesTheWorldAsItIs(t *testing.T) {
	w := full()
	a := w.Machine("a")
	w.Ask([]*snapshot.Node{a})
	if len(w.Machines()) != 2 || w.Machine("a") != a {
		t.Errorf("the machines are %v", w.Machines())
	}
}

func TestWhereThereIsOnlyRoomNothingIsLaunched(t *testing.T) {
	w := full()
	gone := []*snapshot.Node{w.Machine("a")}
	if answer := w.Ask(gone); len(answer.NewNodes) != 1 {
		t.Fatalf("%d new machines, want one", len(answer.NewNodes))
	}
	answer := w.Room(gone)
	if len(answer.NewNodes) != 0 || answer.WithoutRoom()["a"] == nil {
		t.Errorf("new machines %v, unplaced %v", answer.NewNodes, answer.WithoutRoom())
	}
}

// Room for a buffer stays that wherever it is, and costs nothing to move.
func TestChunksStayChunksInAWorld(t *testing.T) {
	w := full()
	var classes snapshot.Classes
	chunk := &snapshot.Pod{Pod: enginetest.Pod("chunk", 1000, 256), Buffer: &snapshot.Buffer{Name: "room"}}
	chunk.Class = classes.Pod(chunk.Pod).Class
	before := w.Machine("a").MoveCost()
	w = New(w.snap, &plan.Plan{Placements: []plan.Placement{{Pod: chunk, Node: w.Machine("a")}}}, placement.Options{})
	a := w.Machine("a")
	if n := len(a.Pods); n != 2 || a.Pods[1].Buffer != chunk.Buffer || a.MoveCost() != before {
		t.Fatalf("%d pods, the last of buffer %v, at a cost of %v instead of %v", n, a.Pods[n-1].Buffer, a.MoveCost(), before)
	}
	if movers := Movers(a); len(movers) != 2 || movers[1].Buffer != chunk.Buffer {
		t.Errorf("what moves is %v", movers)
	}
}

// Room is kept where there is some, moves with a machine's pods, costs nothing, and can be left out.
func TestRoomIsKept(t *testing.T) {
	w := full()
	var classes snapshot.Classes
	like := func(name string, milli int64) *snapshot.Pod { return classes.Pod(enginetest.Pod(name, milli, 256)) }
	before := w.Machine("a").MoveCost()
	w.Keep([]*snapshot.Pod{like("small", 1000), like("too-large", 2000)})
	var kept []*snapshot.Node
	for _, n := range w.Machines() {
		if slices.ContainsFunc(n.Pods, Kept) {
			kept = append(kept, n)
		}
	}
	if len(kept) != 1 || len(kept[0].Pods) != 2 || kept[0].MoveCost() != before {
		t.Fatalf("room is kept on %d machines", len(kept))
	}
	if n := len(Movers(kept[0])); n != 2 {
		t.Errorf("%d move, want the pod and the room", n)
	}
	free, found := w.WithoutKept()
	if !found || slices.ContainsFunc(free.Machine(kept[0].Name).Pods, Kept) || !slices.ContainsFunc(kept[0].Pods, Kept) {
		t.Error("without the room that is kept the world is not another one")
	}
	if _, found := free.WithoutKept(); found {
		t.Error("room is left")
	}
}
