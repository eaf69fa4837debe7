package snapshot_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// A pod's own cost of disruption takes the place of what ReplicaSets go by, as in Karpenter 1.15.
func TestTheCostOfMovingFollowsThePodsAnnotations(t *testing.T) {
	const own, ofReplicaSets = "karpenter.sh/disruption-cost", "controller.kubernetes.io/pod-deletion-cost"
	for _, row := range []struct {
		annotations map[string]string
		want        float64
	}{
		{nil, 2},
		{map[string]string{ofReplicaSets: "134217728"}, 3},
		{map[string]string{own: "134217728"}, 3},
		{map[string]string{own: "0", ofReplicaSets: "134217728"}, 2},
		{map[string]string{own: "-134217728"}, 1},
		{map[string]string{own: "1e30", ofReplicaSets: "134217728"}, 2},
		{map[string]string{ofReplicaSets: "NaN"}, 2},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: row.annotations}}
		n := &snapshot.Node{Pods: []*snapshot.Pod{{Pod: pod, Class: &snapshot.Class{Shape: &snapshot.Shape{}}}}}
		if got := n.MoveCost(); got != row.want {
			t.Errorf("with %v it costs %v, want %v", row.annotations, got, row.want)
		}
	}
}
