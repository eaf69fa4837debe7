package bill

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cluster"
)

var now = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

func pool(budgets ...karpv1.Budget) *karpv1.NodePool {
	np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general"}}
	np.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"}
	np.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("Never")
	np.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"m6g.xlarge"}}, {Key: karpv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{karpv1.CapacityTypeOnDemand}}}
	np.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized
	np.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("1m")
	np.Spec.Disruption.Budgets = budgets
	return np
}

// bill is that of a pool with machines of four vCPUs, with one pod of one vCPU on each.
func bill(t *testing.T, np *karpv1.NodePool, machines int) Bill {
	t.Helper()
	catalogue, err := classes.Load(classes.EC2)
	if err != nil {
		t.Fatal(err)
	}
	known, err := classes.New(catalogue, instancetype.DefaultSettings(), nil)
	if err != nil {
		t.Fatal(err)
	}
	objects := []client.Object{np}
	before := newWorld(Input{Objects: objects, Store: cluster.NewStore(cluster.Options{Offline: true}), Now: now.Add(-time.Hour), Types: known.Of})
	before.Store.Update(np)
	// As plans would launch them, one for each pod.
	for i := range machines {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("pod-%d", i), Namespace: "default", UID: types.UID(fmt.Sprint("pod-", i)),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "web"}}, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		}}
		pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}}}}
		alone := &world{Input: before.Input, pools: before.pools, now: before.now, made: i, launched: map[string]int{}}
		alone.Store = cluster.NewStore(cluster.Options{Offline: true})
		for _, o := range []client.Object{np, pod} {
			alone.Store.Update(o)
		}
		alone.Store.MarkSynced()
		alone.schedule(alone.look())
		for _, n := range alone.look().Nodes {
			claim, _ := alone.Store.NodeClaim(n.Claim.Name)
			objects = append(objects, n.Object, claim, n.Pods[0].Pod)
		}
	}
	store := cluster.NewStore(cluster.Options{Offline: true})
	for _, o := range objects {
		store.Update(o)
	}
	store.MarkSynced()
	return Of(Input{Objects: objects, Store: store, Now: now, Types: known.Of})
}

func TestPodsThatWouldShareAMachineEndOnOne(t *testing.T) {
	b := bill(t, pool(karpv1.Budget{Nodes: "100%"}), 3)
	p := b.Pools[0]
	if !b.Settled || p.Today.Nodes != 3 || p.Settled.Nodes != 1 || p.Evictions < 2 || p.Removed-p.Launched != 2 || b.Unplaced != 0 {
		t.Errorf("got %+v", b)
	}
	if least := p.Settled.PricePerHour; least <= 0 || b.LowerBound <= 0 || b.LowerBound > least {
		t.Errorf("settled at %v, bound %v", least, b.LowerBound)
	}
	var text strings.Builder
	if err := b.Table(&text); err != nil || !strings.Contains(text.String(), "Machines that go: Underutilized") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestPodsThatNoPlanLooksAtAreNotWithoutAPlace(t *testing.T) {
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	}
	gated := pod("gated")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
	store := cluster.NewStore(cluster.Options{Offline: true})
	store.Update(gated)
	store.Update(pod("waits"))
	store.MarkSynced()
	if b := Of(Input{Store: store, Now: now}); b.Unplaced != 1 {
		t.Errorf("%d pods without a place", b.Unplaced)
	}
}

// A budget that opens within the week is waited for, one that is closed for good is not.
func TestBudgetsAreWaitedFor(t *testing.T) {
	nightly := "0 22 * * *"
	closed := karpv1.Budget{Nodes: "0", Schedule: &nightly, Duration: &metav1.Duration{Duration: 23 * time.Hour}}
	b := bill(t, pool(closed, karpv1.Budget{Nodes: "100%"}), 3)
	if p := b.Pools[0]; !b.Settled || p.Settled.Nodes != 1 || b.Hours < 9 || b.Hours > 10 {
		t.Errorf("open from 21:00 to 22:00: %+v", b)
	}
	b = bill(t, pool(karpv1.Budget{Nodes: "0"}), 3)
	if p := b.Pools[0]; !b.Settled || p.Settled.Nodes != 3 || p.Evictions != 0 {
		t.Errorf("closed: %+v", b)
	}
}
