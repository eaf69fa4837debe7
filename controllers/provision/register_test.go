package provision

import (
	"testing"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Pods that no pool could take are planned anew when one becomes ready or is changed, and not
// each time that its status is written.
func TestAPoolThatOpensAsksForAPlan(t *testing.T) {
	closed := pool("a", func(np *karpv1.NodePool) {
		np.Status.Conditions = []status.Condition{{Type: status.ConditionReady, Status: metav1.ConditionFalse}}
	})
	open := pool("a", nil)
	busier := pool("a", func(np *karpv1.NodePool) { np.Status.Resources = corev1.ResourceList{"nodes": resource.MustParse("3")} })
	roomier := pool("a", func(np *karpv1.NodePool) { np.Generation = 2 })
	for _, tt := range []struct {
		name     string
		was, now *karpv1.NodePool
		want     bool
	}{
		{"it becomes ready", closed, open, true},
		{"its spec changes", open, roomier, true},
		{"its status changes", open, busier, false},
		{"it stays closed", closed, closed, false},
		{"it closes", open, closed, false},
	} {
		got := readyPool(tt.now) && opened{}.Update(event.UpdateEvent{ObjectOld: tt.was, ObjectNew: tt.now})
		if got != tt.want {
			t.Errorf("%s: asks for a plan: %v, want %v", tt.name, got, tt.want)
		}
	}
}
