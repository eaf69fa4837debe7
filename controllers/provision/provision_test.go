package provision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption/churnlog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
)

var ctx = context.Background()

func pool(name string, change func(*karpv1.NodePool)) *karpv1.NodePool {
	np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	np.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: looptest.Class.Group, Kind: looptest.Class.Kind, Name: looptest.Class.Name}
	np.Status.Conditions = []status.Condition{{Type: status.ConditionReady, Status: metav1.ConditionTrue}}
	if change != nil {
		change(np)
	}
	return np
}

// pending is a pod that kube-scheduler has found no node for.
func pending(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(looptest.Noon)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)},
		}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
		}},
	}
}

func rig(t *testing.T, objects ...client.Object) *looptest.Rig {
	r := looptest.New(t, objects...)
	r.Offered = []*catalog.Type{
		kind("large-8x", "8", offering("zone-a", "on-demand", 0.8)),
		kind("small-2x", "2", offering("zone-a", "on-demand", 0.2), offering("zone-b", "spot", 0.1)),
	}
	return r
}

// provisioner names claims by number.
func provisioner(r *looptest.Rig) *Provisioner {
	var n atomic.Int32
	return New(r.Deps, Config{Suffix: func() string { return fmt.Sprintf("%05d", n.Add(1)) }})
}

func pass(t *testing.T, r *looptest.Rig, p *Provisioner) {
	t.Helper()
	r.Sync()
	if err := p.Pass(ctx); err != nil {
		t.Fatal(err)
	}
}

func published(r *looptest.Rig, event string) bool {
	return slices.ContainsFunc(r.Events.List, func(e string) bool { return strings.Contains(e, event) })
}

func TestPendingPodsGetTheMachinesOfThePlan(t *testing.T) {
	r := rig(t, pool("general", nil), pending("web-1", "1500m"), pending("web-2", "1500m"), pending("impossible", "100"))
	pass(t, r, provisioner(r))
	claims := r.Claims()
	if len(claims) != 2 {
		t.Fatalf("%d claims, want 2", len(claims))
	}
	for _, c := range claims {
		if !strings.HasPrefix(c.Name, "general-") || c.Annotations[lifecycle.PlannedAnnotation] != "small-2x/zone-b/spot" {
			t.Errorf("claim %s is planned as %s", c.Name, c.Annotations[lifecycle.PlannedAnnotation])
		}
	}
	for _, want := range []string{
		"Pod/web-1 Nominated: Pod should schedule on: nodeclaim/general-0000",
		"Pod/web-2 Nominated: Pod should schedule on: nodeclaim/general-0000",
		"Pod/impossible FailedScheduling: Failed to schedule pod, ",
	} {
		if !published(r, want) {
			t.Errorf("no event %q in\n%s", want, strings.Join(r.Events.List, "\n"))
		}
	}
}

func TestMachinesForTheSurgeOfARolloutAreMarked(t *testing.T) {
	yes := true
	of := func(hash string, age time.Duration) *corev1.Pod {
		p := pending("web-"+hash+"-1", "1500m")
		p.Labels = map[string]string{"pod-template-hash": hash}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-" + hash, UID: types.UID(hash), Controller: &yes}}
		p.CreationTimestamp = metav1.NewTime(looptest.Noon.Add(-age))
		return p
	}
	r := rig(t, pool("general", nil), of("old", time.Hour), of("new", 0))
	pass(t, r, provisioner(r))
	got := map[string]string{}
	for _, c := range r.Claims() {
		got[c.Annotations[backoff.LaunchedForAnnotation]] = c.Annotations[churnlog.RolloutAnnotation]
	}
	if want := map[string]string{"ReplicaSet/default/web-old=1": "", "ReplicaSet/default/web-new=1": "true"}; !maps.Equal(got, want) {
		t.Errorf("claims for %v, want %v", got, want)
	}
}

func TestThatPodsStillHaveNoPlaceIsNotLoggedAgain(t *testing.T) {
	r := rig(t, pool("general", nil), pending("impossible", "100"))
	p := provisioner(r)
	var lines []string
	ctx := looptest.Logged(&lines)
	look := func(want int) {
		t.Helper()
		for range 3 {
			r.Sync()
			r.Must(p.Pass(ctx))
		}
		if len(lines) != want {
			t.Errorf("want %d lines:\n%s", want, strings.Join(lines, "\n"))
		}
	}
	look(1)
	r.Must(r.Client.Create(ctx, pending("impossible-2", "100")))
	look(2)
	r.Must(r.Client.Delete(ctx, pending("impossible", "100")))
	r.Must(r.Client.Delete(ctx, pending("impossible-2", "100")))
	look(2)
	r.Must(r.Client.Create(ctx, pending("impossible-3", "100")))
	look(3)
}

func TestNoPassLaunchesForTheSamePodsAgain(t *testing.T) {
	r := rig(t, pool("general", nil), pending("web-1", "1500m"), pending("web-2", "1"))
	p := provisioner(r)
	for range 5 {
		// No Sync: the process knows its claims although no watch has told it.
		if err := p.Pass(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.Claims()); n != 2 {
		t.Errorf("%d claims, want 2", n)
	}
	r.Restart()
	pass(t, r, provisioner(r))
	if n := len(r.Claims()); n != 2 {
		t.Errorf("%d claims after a restart, want 2", n)
	}
}

func TestALaunchThatHangsKeepsNobodyElseWaiting(t *testing.T) {
	r := rig(t, pool("general", nil), pending("first", "1500m"))
	p := provisioner(r)
	pass(t, r, p)
	// The claim of the first pod is never launched; the second needs another.
	r.Must(r.Client.Create(ctx, pending("second", "1500m")))
	pass(t, r, p)
	if n := len(r.Claims()); n != 2 {
		t.Errorf("%d claims, want 2", n)
	}
}

func TestALimitHoldsThoughNothingIsLaunchedYet(t *testing.T) {
	limited := func(np *karpv1.NodePool) { np.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse("4")} }
	objects := []client.Object{pool("general", limited)}
	for i := range 6 {
		objects = append(objects, pending(fmt.Sprint("web-", i), "1500m"))
	}
	r := rig(t, objects...)
	p := provisioner(r)
	for range 3 {
		pass(t, r, p)
	}
	if n := len(r.Claims()); n != 2 {
		t.Errorf("%d claims of two CPUs under a limit of 4", n)
	}
}

func TestALimitThatWasLoweredSinceTheSnapshotHolds(t *testing.T) {
	np := pool("general", nil)
	r := rig(t, np, pending("web-1", "1500m"), pending("web-2", "1500m"), pending("web-3", "1500m"))
	r.Get(np)
	np.Spec.Limits = karpv1.Limits{"nodes": resource.MustParse("1")}
	r.Must(r.Client.Update(ctx, np))
	if err := provisioner(r).Pass(ctx); err != nil { // the store has not heard of it
		t.Fatal(err)
	}
	if n := len(r.Claims()); n != 1 {
		t.Errorf("%d claims, want 1", n)
	}
}

func TestALostAnswerIsNotASecondMachine(t *testing.T) {
	lost := apierrors.NewInternalError(errors.New("connection reset"))
	for name, tc := range map[string]struct {
		happens bool // although the answer is lost
		times   int
		claims  int
	}{
		"created":     {true, 1, 1},
		"not created": {false, 1, 1},
		"never":       {false, 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := rig(t, pool("general", nil), pending("web-1", "1500m"))
			failed := 0
			r.API.Before = func(verb string, o client.Object) error {
				if verb != "create" || failed == tc.times {
					return nil
				}
				failed++
				if tc.happens {
					r.Must(r.API.API.Create(ctx, o.DeepCopyObject().(client.Object)))
				}
				return lost
			}
			p := provisioner(r)
			var lines []string
			ctx := looptest.Logged(&lines)
			if err := p.Pass(ctx); !errors.Is(err, lost) {
				t.Errorf("error %v", err)
			}
			if machine, _ := r.Store.Place(types.NamespacedName{Namespace: "default", Name: "web-1"}); machine != "general-00001" {
				t.Errorf("the pod is meant for %q", machine)
			}
			p.Live = unreachable{r.Client} // and the store is not told by a watch either
			if err := p.Pass(ctx); !errors.Is(err, errUnreachable) {
				t.Errorf("error %v", err)
			}
			p.Live = r.Client
			_ = p.Pass(ctx)
			if n := len(r.Claims()); n != tc.claims {
				t.Errorf("%d claims, want %d", n, tc.claims)
			}
			if err := p.Pass(ctx); (err != nil) != (tc.claims == 0) {
				t.Errorf("error %v", err)
			}
			if n := strings.Count(strings.Join(lines, "\n"), loop.LoggedCreated); n != tc.claims {
				t.Errorf("%d claims are logged, want %d", n, tc.claims)
			}
		})
	}
}

var errUnreachable = errors.New("the API server is not reached")

// unreachable reads pools and nothing else.
type unreachable struct{ client.Reader }

func (u unreachable) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, ok := o.(*karpv1.NodePool); ok {
		return u.Reader.Get(ctx, key, o, options...)
	}
	return errUnreachable
}

func TestANameThatIsTakenIsNotOurMachine(t *testing.T) {
	r := rig(t, pool("general", nil), pending("web-1", "1500m"), &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "general-00001", UID: "other"}})
	pass(t, r, provisioner(r))
	if n := len(r.Claims()); n != 2 {
		t.Errorf("%d claims, want the other one and ours", n)
	}
}

func TestARefusedClaimIsToldOnceTriedLaterAndHoldsNoOtherPoolUp(t *testing.T) {
	r := rig(t, pool("a", func(np *karpv1.NodePool) { np.Spec.Template.Labels = map[string]string{"team": "a"} }),
		pool("b", func(np *karpv1.NodePool) { np.Spec.Template.Labels = map[string]string{"team": "b"} }))
	for _, team := range []string{"a", "b"} {
		p := pending("web-"+team, "1500m")
		p.Spec.NodeSelector = map[string]string{"team": team}
		r.Must(r.Client.Create(ctx, p))
	}
	r.Sync()
	asked, refuses := 0, true
	r.API.Before = func(verb string, o client.Object) error {
		if verb == "create" && refuses && o.GetLabels()[karpv1.NodePoolLabelKey] == "a" {
			asked++
			return apierrors.NewForbidden(schema.GroupResource{Resource: "nodeclaims"}, o.GetName(), errors.New("by a policy"))
		}
		return nil
	}
	p := provisioner(r)
	for range 60 {
		pass(t, r, p)
		r.Clock.Step(time.Second)
	}
	claims := r.Claims()
	if len(claims) != 1 || claims[0].Labels[karpv1.NodePoolLabelKey] != "b" {
		t.Errorf("claims: %v", claims)
	}
	if asked != 5 { // after 0, 2, 6, 14 and 30 seconds
		t.Errorf("the API server was asked %d times in a minute", asked)
	}
	told := slices.DeleteFunc(slices.Clone(r.Events.List), func(e string) bool { return !strings.Contains(e, "LaunchesRefused") })
	if len(told) != 1 || !strings.Contains(told[0], "by a policy") {
		t.Errorf("events %q", told)
	}
	refuses = false
	r.Clock.Step(time.Minute)
	pass(t, r, p)
	if n := len(r.Claims()); n != 2 || r.Store.RefusedLaunches("a") != nil {
		t.Errorf("%d claims when it is permitted again, refusal %v", n, r.Store.RefusedLaunches("a"))
	}
}

func TestAPoolThatIsGoingGetsNoMachines(t *testing.T) {
	np := pool("general", func(np *karpv1.NodePool) { np.Finalizers = []string{"example.com/keep"} })
	r := rig(t, np, pending("web-1", "1500m"))
	r.Must(r.Client.Delete(ctx, np))
	if err := provisioner(r).Pass(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(r.Claims()); n != 0 {
		t.Errorf("%d claims", n)
	}
}

func TestAPoolWithoutTypesIsWarned(t *testing.T) {
	r := rig(t, pool("general", func(np *karpv1.NodePool) {
		np.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: corev1.LabelArchStable, Operator: "In", Values: []string{"riscv64"}}}
	}), pending("web-1", "1"))
	pass(t, r, provisioner(r))
	if !published(r, "NodePool/general NoCompatibleInstanceTypes: ") {
		t.Errorf("events: %q", r.Events.List)
	}
}

func TestPodsOfMachinesThatAreGoingGetNewOnesInTime(t *testing.T) {
	leaving := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "leaving", UID: "leaving", Finalizers: []string{karpv1.TerminationFinalizer}, Labels: map[string]string{karpv1.NodePoolLabelKey: "general"},
	}}
	leaving.Status.ProviderID = "kwok://leaving"
	leaving.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeInitialized, Status: metav1.ConditionTrue}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "leaving", Labels: map[string]string{
		karpv1.NodePoolLabelKey: "general", karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true",
	}}}
	node.Spec.ProviderID = leaving.Status.ProviderID
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("10")}
	running := pending("web-1", "1500m")
	running.Spec.NodeName, running.Status = "leaving", corev1.PodStatus{Phase: corev1.PodRunning}
	r := rig(t, pool("general", nil), leaving, node, running)
	r.Must(r.Client.Delete(ctx, leaving))
	p := provisioner(r)
	pass(t, r, p)
	pass(t, r, p)
	if n := len(r.Claims()); n != 2 {
		t.Errorf("%d claims, want the old and one new", n)
	}
	if len(r.Events.List) != 0 {
		t.Errorf("a pod that still runs is told %q", r.Events.List)
	}
}

func TestEventsAreRationedOverAllPods(t *testing.T) {
	objects := []client.Object{pool("general", nil)}
	for i := range 50 {
		objects = append(objects, pending(fmt.Sprintf("web-%02d", i), "1500m"))
	}
	r := rig(t, objects...)
	pass(t, r, provisioner(r))
	if n := len(r.Events.List); n != eventsBurst {
		t.Errorf("%d Nominated events at once, want %d", n, eventsBurst)
	}
}

func TestNothingIsPlannedBeforeTheStateIsComplete(t *testing.T) {
	r := rig(t, pool("general", nil), pending("web-1", "1500m"))
	p := provisioner(r)
	p.Store = cluster.NewStore()
	if err := p.Pass(ctx); !errors.Is(err, errNotSynced) {
		t.Errorf("error %v", err)
	}
}

func TestTheLoopPlansABatchWhenItsWindowClosesAndTriesAgainAfterARefusal(t *testing.T) {
	r := rig(t, pool("general", nil), pending("web-1", "1500m"))
	refusals := 1
	r.API.Before = func(verb string, _ client.Object) error {
		if verb == "create" && refusals > 0 {
			refusals--
			return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("not yet"))
		}
		return nil
	}
	p := provisioner(r)
	done, cancel := context.WithCancel(ctx)
	stopped := make(chan error)
	go func() { stopped <- p.Start(done) }()
	p.Trigger("web-1")
	deadline := time.Now().Add(10 * time.Second)
	for len(r.Claims()) == 0 && time.Now().Before(deadline) {
		p.Trigger("web-1") // as its watch does
		if r.Clock.HasWaiters() {
			r.Clock.Step(time.Second)
		}
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if n := len(r.Claims()); n != 1 || refusals != 0 {
		t.Errorf("%d claims, %d refusals left", n, refusals)
	}
}

// joins has the Node of a claim take pods, as "web".
func joins(r *looptest.Rig, claim karpv1.NodeClaim) {
	claim.CreationTimestamp = metav1.NewTime(r.Clock.Now())
	r.Must(r.Client.Update(ctx, &claim))
	claim.Status.ProviderID = "kwok://web"
	for _, c := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered} {
		claim.Status.Conditions = append(claim.Status.Conditions, status.Condition{Type: c, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(r.Clock.Now())})
	}
	r.Must(r.Client.Status().Update(ctx, &claim))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{
		karpv1.NodePoolLabelKey: "general", karpv1.NodeRegisteredLabelKey: "true",
	}}}
	node.Spec.ProviderID = claim.Status.ProviderID
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("2"), "pods": resource.MustParse("10")}
	r.Must(r.Client.Create(ctx, node))
}

// Every pending pod is in every plan: one that has lost its place on a new machine to
// another is given a machine by the next.
func TestAPodThatLostItsPlaceIsPlannedAgainAtOnce(t *testing.T) {
	r := rig(t, pool("general", nil), pending("web-1", "1500m"))
	p := provisioner(r)
	pass(t, r, p)
	joins(r, r.Claims()[0])
	other := pending("other", "1")
	other.Spec.NodeName, other.Status = "web", corev1.PodStatus{Phase: corev1.PodRunning}
	r.Must(r.Client.Create(ctx, other))
	pass(t, r, p)
	if n := len(r.Claims()); n != 2 {
		t.Errorf("%d claims, want 2", n)
	}
}
