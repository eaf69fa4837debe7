package nomination_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Whatever order kube-scheduler takes the pods in that are not nominated, and whichever
// machines with room it takes for them, all of them find a place.
func TestPodsThatAreNotNominatedFitInAnyOrder(t *testing.T) {
	several := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		s := filled(t, r)
		nominated, classes := map[string]string{}, map[*snapshot.Class]bool{}
		for _, c := range nomination.Decide(s) {
			nominated[c.Pod.Name] = c.Node
		}
		for _, p := range s.Pending {
			if nominated[p.Name] == "" {
				classes[p.Class] = true
			}
		}
		if len(classes) > 1 {
			several++
		}
		for range 20 {
			if p := stranded(r, s, nominated); p != nil {
				t.Fatalf("seed %d: pod %s finds no room with %d of %d pods nominated", seed, p.Name, len(nominated), len(s.Pending))
			}
		}
	}
	if t.Logf("several classes were left to kube-scheduler in %d of 300 clusters", several); several < 30 {
		t.Error("too few to say anything")
	}
}

// filled is a cluster of open machines and pods planned for them, full or nearly so.
func filled(t *testing.T, r *rand.Rand) *snapshot.Snapshot {
	w := &enginetest.Scenario{}
	say := func(format string, args ...any) {
		if !w.Do(t, storytest.Parse(fmt.Sprintf(format, args...))) {
			t.Fatalf(format, args...)
		}
	}
	types := 1 + r.IntN(2)
	for i := range types {
		say("type t%d cpu=%d memory=%dGi price=1", i, 4+r.IntN(28), 16+r.IntN(64))
	}
	say("pool main")
	nodes := 1 + r.IntN(4)
	for i := range nodes {
		say("node n%d type=t%d pool=main stage=registered", i, r.IntN(types))
	}
	rooms := map[string]corev1.ResourceList{}
	for _, n := range w.Nodes {
		rooms[n.Name] = n.Allocatable().DeepCopy()
	}
	spare := r.IntN(4) // pods that would still fit
	for c := range 2 + r.IntN(3) {
		name := fmt.Sprintf("c%d", c)
		say("pod %s count=%d cpu=%dm memory=%dMi", name, 1+r.IntN(30), 100+r.IntN(2900), 128+r.IntN(4000))
	}
	var placed []*snapshot.Pod
	for _, p := range w.Pending {
		if n := fitting(r, rooms, p); n != "" {
			take(rooms[n], p)
			say("nominate %s %s", p.Name, n)
			placed = append(placed, p)
		}
	}
	w.Pending = placed[:max(0, len(placed)-spare)]
	return &w.Snapshot
}

// With very many pods the nominations cost more than what they save, if that is less than a
// twentieth of the machines. One of them is not launched yet.
func TestManySmallPodsOfOneShapeAreNotNominated(t *testing.T) {
	for _, test := range []struct {
		machines, seconds int    // seconds is how many of the second size are on each
		second            string // what they request; 20 of the first: cpu=800m memory=1Gi
		full              int    // machines without memory for them
		nominated         bool
	}{
		{40, 16, "cpu=1 memory=1Gi", 0, false},
		{20, 16, "cpu=1 memory=1Gi", 0, true}, // not many
		{40, 16, "cpu=1 memory=6Gi", 0, true}, // memory is scarcer for them
		{60, 8, "cpu=2 memory=1Gi", 0, true},  // none are small
		{80, 16, "cpu=1 memory=1Gi", 1, false},
		{80, 16, "cpu=1 memory=1Gi", 3, true}, // much CPU is left there
	} {
		w := &enginetest.Scenario{}
		say := func(format string, args ...any) {
			if !w.Do(t, storytest.Parse(fmt.Sprintf(format, args...))) {
				t.Fatalf(format, args...)
			}
		}
		say("type t cpu=32 memory=128Gi price=1")
		say("pool main")
		say("pod a count=%d cpu=800m memory=1Gi", 20*test.machines)
		say("pod b count=%d %s", test.seconds*test.machines, test.second)
		for i := range test.machines {
			say("node n%d type=t pool=main stage=registered", i)
		}
		for i := range test.full {
			say("pod full%d cpu=100m memory=127Gi on=n%d", i, 1+i)
		}
		launching := w.Nodes[0]
		launching.Object, launching.Claim.Allocatable, launching.Claim.Conditions = nil, nil, nil
		launching.Claim.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("36Gi")}
		for i, p := range w.Pending {
			say("nominate %s n%d", p.Name, i%test.machines)
		}
		if got := len(nomination.Decide(&w.Snapshot)); got > 0 != test.nominated {
			t.Errorf("of %d pods, some of %s, %d are nominated", len(w.Pending), test.second, got)
		}
	}
}

// What is left of a machine that only others are planned for is not counted on, so it does not
// matter of what it has the most.
func TestRoomThatThePlanDoesNotCountOnIsNotMissed(t *testing.T) {
	w := &enginetest.Scenario{}
	for _, line := range []string{
		"type t cpu=32 memory=128Gi price=1", "pool main",
		"node n1 type=t pool=main stage=registered", "node n2 type=t pool=main stage=registered",
		"pod a count=10 cpu=1 memory=2Gi", "pod b count=10 cpu=2 memory=4Gi", "pod large cpu=3 memory=126Gi",
	} {
		if !w.Do(t, storytest.Parse(line)) {
			t.Fatal(line)
		}
	}
	for _, p := range w.Pending {
		node := "n1"
		if p.Name == "large" {
			node = "n2"
		}
		w.Do(t, storytest.Parse("nominate "+p.Name+" "+node))
	}
	if got := nomination.Decide(&w.Snapshot); len(got) != 1 || got[0].Pod.Name != "large" {
		t.Errorf("%d pods are nominated, want the large one alone", len(got))
	}
}

// stranded is a pod that is left over when the nominated ones are on their machines and the
// others go anywhere, in any order; nil if none is.
func stranded(r *rand.Rand, s *snapshot.Snapshot, nominated map[string]string) *snapshot.Pod {
	rooms := map[string]corev1.ResourceList{}
	for _, n := range s.Nodes {
		rooms[n.Name] = n.Allocatable().DeepCopy()
	}
	var rest []*snapshot.Pod
	for _, p := range s.Pending {
		if n := nominated[p.Name]; n != "" {
			take(rooms[n], p)
		} else {
			rest = append(rest, p)
		}
	}
	for _, i := range r.Perm(len(rest)) {
		n := fitting(r, rooms, rest[i])
		if n == "" {
			return rest[i]
		}
		take(rooms[n], rest[i])
	}
	return nil
}

// fitting is a machine with room for a pod, any of them; empty if there is none.
func fitting(r *rand.Rand, rooms map[string]corev1.ResourceList, p *snapshot.Pod) string {
	var all []string
	for i := range len(rooms) {
		n := fmt.Sprintf("n%d", i)
		fits := true
		for _, a := range p.Class.Requests {
			have := rooms[n][a.Name]
			fits = fits && have.Cmp(a.Quantity) >= 0
		}
		if fits {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[r.IntN(len(all))]
}

func take(room corev1.ResourceList, p *snapshot.Pod) {
	for _, a := range p.Class.Requests {
		left := room[a.Name]
		left.Sub(a.Quantity)
		room[a.Name] = left
	}
}
