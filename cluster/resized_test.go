package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A pod is resized in place on its node; what comes in its place asks for what it was created with.
func TestAPodThatWasResizedIsPlannedAsItWasCreated(t *testing.T) {
	of := func(version int, node, cpu string, generation int64) *corev1.Pod {
		p := testPod("p", version, node)
		p.Generation = generation
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("1Gi")}
		return p
	}
	byVPA := of(3, "n", "1", 2)
	byVPA.Annotations = map[string]string{"vpaInPlaceUpdated": "true"}
	other := of(3, "n", "1", 2)
	other.UID = "other"
	for name, test := range map[string]struct {
		states []*corev1.Pod
		want   string
	}{
		"smaller":               {[]*corev1.Pod{of(1, "", "4", 1), of(2, "n", "4", 1), of(3, "n", "1", 2), of(4, "n", "1", 2)}, "4"},
		"larger":                {[]*corev1.Pod{of(1, "n", "1", 1), of(2, "n", "4", 2)}, "4"},
		"back again":            {[]*corev1.Pod{of(1, "n", "2", 1), of(2, "n", "1", 2), of(3, "n", "2", 3)}, "2"},
		"before it was seen":    {[]*corev1.Pod{of(3, "n", "1", 2)}, "1"},
		"by an autoscaler":      {[]*corev1.Pod{of(1, "n", "4", 1), byVPA}, "1"},
		"another of its name":   {[]*corev1.Pod{of(1, "n", "4", 1), other}, "1"},
		"before pods had those": {[]*corev1.Pod{of(1, "n", "4", 0), of(2, "n", "1", 0)}, "4"},
	} {
		s := NewStore(Options{})
		s.Update(testNode("n", 1, "id"))
		for _, p := range test.states {
			s.Update(p)
		}
		p := s.Snapshot(noon, nil).Nodes[0].Pods[0]
		again := p.Again()
		cpu, memory := again.Class.Requests.Get("cpu"), again.Class.Requests.Get("memory")
		now := p.Class.Requests.Get("cpu")
		if cpu.String() != test.want || memory.String() != "1Gi" || now.Cmp(test.states[len(test.states)-1].Spec.Containers[0].Resources.Requests["cpu"]) != 0 {
			t.Errorf("%s: planned with %s and %s, and takes %s now", name, cpu.String(), memory.String(), now.String())
		}
		if again.Class != p.Again().Class {
			t.Errorf("%s: two classes of one kind", name)
		}
	}
}
