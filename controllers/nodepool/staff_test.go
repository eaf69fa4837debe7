package nodepool

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// staticPool is a ready pool of three replicas that may have one type.
func staticPool(t *testing.T, limits karpv1.Limits) (*looptest.Rig, *karpv1.NodePool) {
	np := pool(func(np *karpv1.NodePool) {
		np.Spec.Replicas, np.Spec.Limits = new(int64(3)), limits
		np.Status.Conditions = []status.Condition{{Type: status.ConditionReady, Status: metav1.ConditionTrue}}
	})
	r := looptest.New(t, np, class("True", "Ready", ""))
	r.Offered = []*catalog.Type{{
		Name: "small", Capacity: corev1.ResourceList{"cpu": resource.MustParse("4")},
		Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.Spot, Price: 1, Available: true}},
	}}
	return r, np
}

func TestAStaticPoolIsFilledAndCutBack(t *testing.T) {
	r, np := staticPool(t, nil)
	c := reconciler(r)
	for _, n := range []int64{3, 3, 5, 1, 0} {
		r.Get(np)
		np.Spec.Replicas = &n
		r.Must(r.Client.Update(ctx, np))
		for range 3 {
			run(t, r, c)
		}
		if got := int64(len(r.Claims())); got != n {
			t.Errorf("%d machines, want %d", got, n)
		}
	}
}

func TestAStaticPoolIsFilledOnceTheStoreIsSynced(t *testing.T) {
	r, np := staticPool(t, nil)
	c := reconciler(r)
	c.Store = cluster.NewStore()
	result, err := c.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(np)})
	r.Must(err)
	if n := len(r.Claims()); n > 0 || result.RequeueAfter > time.Second {
		t.Errorf("%d machines before it is, and the next look after %v", n, result.RequeueAfter)
	}
	c.Store = r.Store
	if run(t, r, c); len(r.Claims()) != 3 {
		t.Errorf("%d machines once it is, want 3", len(r.Claims()))
	}
}

func TestALostAnswerIsNotAMachineMoreThanAStaticPoolHas(t *testing.T) {
	r, np := staticPool(t, nil)
	c := reconciler(r)
	r.API.Before = func(verb string, o client.Object) error {
		if verb != "create" {
			return nil
		}
		r.Must(r.API.API.Create(ctx, o.DeepCopyObject().(client.Object)))
		return errors.New("connection reset")
	}
	var lines []string
	for range 3 {
		_ = c.staff(looptest.Logged(&lines), np) // no watch tells the store
	}
	if n := len(r.Claims()); n != 3 {
		t.Errorf("%d machines, want 3", n)
	}
	if n := strings.Count(strings.Join(lines, "\n"), loop.LoggedCreated); n != 3 {
		t.Errorf("%d machines are logged, want 3", n)
	}
}

func TestAStaticPoolThatCannotBeFilledSaysWhy(t *testing.T) {
	r, _ := staticPool(t, karpv1.Limits{"nodes": resource.MustParse("2")})
	c := reconciler(r)
	for range 3 {
		run(t, r, c)
	}
	want := "NodePool/general ReplicasMissing: 1 of 3 machines missing: the limits of nodepool/general allow no further machine: nodes would be 3 of 2"
	if got := len(r.Claims()); got != 2 || !slices.Contains(r.Events.List, want) {
		t.Errorf("%d machines, events %q", got, r.Events.List)
	}
}
