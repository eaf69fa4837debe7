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
		got := ready(tt.now) && opened{}.Update(event.UpdateEvent{ObjectOld: tt.was, ObjectNew: tt.now})
		if got != tt.want {
			t.Errorf("%s: asks for a plan: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A pod that waits although its planned machine takes pods asks for a plan when kube-scheduler
// has found no node for it once more, and not while that machine is on its way.
func TestAPodThatHasLostItsPlaceAsksForAPlan(t *testing.T) {
	was, now := pending("web", "1"), pending("web", "1")
	was.Status.Conditions[0].Message, now.Status.Conditions[0].Message = "0/1 nodes are available", "0/2 nodes are available"
	first := pending("web", "1")
	first.Status.Conditions = nil
	for _, tt := range []struct {
		name     string
		was, now *corev1.Pod
		want     bool
	}{
		{"kube-scheduler says something else", was, now, true},
		{"it says the same", was, was, false},
		{"it speaks for the first time", first, now, false},
	} {
		if got := (triedAgain{}).Update(event.UpdateEvent{ObjectOld: tt.was, ObjectNew: tt.now}); got != tt.want {
			t.Errorf("%s: asks for a plan: %v, want %v", tt.name, got, tt.want)
		}
	}

	r := rig(t, pool("a", nil), now)
	p := provisioner(r)
	if p.displaced(now) {
		t.Error("a pod without a place has lost one")
	}
	pass(t, r, p)
	if p.displaced(now) {
		t.Error("its machine is on its way")
	}
	claim := r.Claims()[0]
	claim.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered)
	r.Must(r.Client.Status().Update(ctx, &claim))
	if r.Sync(); !p.displaced(now) {
		t.Error("its machine takes pods, and it waits")
	}
}
