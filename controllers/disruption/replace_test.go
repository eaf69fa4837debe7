package disruption

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// small is what the cloud offers: one type, of four CPUs.
var small = &catalog.Type{
	Name: "small", Capacity: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("20")},
	Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.Spot, Price: 1, Available: true}},
	Requirements: requirement.NewSet(
		requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, "small"),
		requirement.Must(corev1.LabelTopologyZone, requirement.In, "a"),
		requirement.Must(catalog.CapacityTypeLabel, requirement.In, catalog.Spot),
	),
}

// drifted is a rig with one machine that has drifted and carries a pod.
func drifted(t *testing.T) *looptest.Rig {
	np := pool(func(np *karpv1.NodePool) {
		np.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("Never")
	})
	claim, node := machine("a")
	claim.Annotations = map[string]string{
		karpv1.NodePoolHashAnnotationKey: "another", karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion,
	}
	node.Status.Allocatable = small.Capacity
	pod := podOn("a", "web")
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}
	r := rig(t, np, claim, node, pod)
	r.Offered = []*catalog.Type{small}
	return r
}

// comers are the claims besides those of machines a and b.
func comers(r *looptest.Rig) []karpv1.NodeClaim {
	return slices.DeleteFunc(r.Claims(), func(c karpv1.NodeClaim) bool { return c.Name == "claim-a" || c.Name == "claim-b" })
}

// arrive gives every replacement a node and initializes it.
func arrive(r *looptest.Rig) {
	for _, claim := range comers(r) {
		if claim.Status.NodeName != "" {
			continue
		}
		_, node := machine(claim.Name)
		node.OwnerReferences[0].Name, node.OwnerReferences[0].UID = claim.Name, claim.UID
		node.Status.Allocatable = small.Capacity
		r.Must(r.Client.Create(ctx, node))
		claim.Status.ProviderID, claim.Status.NodeName = node.Spec.ProviderID, node.Name
		for _, t := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
			claim.Status.Conditions = append(claim.Status.Conditions, status.Condition{Type: t, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(r.Clock.Now())})
		}
		r.Must(r.Client.Status().Update(ctx, &claim))
	}
}

func TestADriftedMachineGoesOnlyWhenItsReplacementIsInitialized(t *testing.T) {
	r := drifted(t)
	counted := r.Measure()
	d := New(r.Deps, disruption.Options{})
	pass(t, r, d)
	if got := state(r, "a"); got != "taint Drifted" || len(comers(r)) != 0 {
		t.Fatalf("after the first pass: %q, %d replacements", got, len(comers(r)))
	}
	r.Clock.Step(disruption.SettleTime)
	for range 3 {
		pass(t, r, d)
		r.Clock.Step(time.Second)
		if got := state(r, "a"); got != "taint Drifted" || len(comers(r)) != 1 {
			t.Fatalf("while the replacement is on its way: %q, %d replacements", got, len(comers(r)))
		}
	}
	arrive(r)
	pass(t, r, d)
	if got := state(r, "a"); got != "taint Drifted deleted" {
		t.Errorf("when the replacement is there: %q", got)
	}
	claim, _ := machine("a")
	if r.Get(claim); !claim.StatusConditions().IsTrue(karpv1.ConditionTypeDrifted) {
		t.Error("the claim is not called Drifted")
	}
	np := pool(func(*karpv1.NodePool) {})
	if r.Get(np); !strings.Contains(np.Annotations[cluster.MovesAnnotation], `"pods":1`) {
		t.Errorf("the pool does not remember that a pod was evicted: %q", np.Annotations)
	}
	if got := counted("karpenter_pods_disruption_initiated_total"); got != 1 {
		t.Errorf("%v pods are counted as disrupted, want 1", got)
	}
}

func TestAReplacementIsToldOfOnceAlthoughTheAnswerIsLost(t *testing.T) {
	r := drifted(t)
	d := New(r.Deps, disruption.Options{})
	pass(t, r, d)
	r.Clock.Step(disruption.SettleTime)
	lost := errors.New("connection reset")
	r.API.Before = func(_ string, o client.Object) error {
		r.API.Before = nil
		r.Must(r.API.API.Create(ctx, o.DeepCopyObject().(client.Object)))
		return lost
	}
	var lines []string
	r.Sync()
	if _, err := d.Pass(looptest.Logged(&lines)); !errors.Is(err, lost) {
		t.Errorf("error %v", err)
	}
	for range 3 {
		_, err := d.Pass(looptest.Logged(&lines)) // no watch tells the store
		r.Must(err)
	}
	logged := strings.Count(strings.Join(lines, "\n"), loop.LoggedCreated)
	if n := len(comers(r)); n != 1 || logged != 1 || !published(r, "DisruptionLaunching: Launching NodeClaim to replace a: Drifted") {
		t.Errorf("%d replacements, %d are logged, events %v", n, logged, r.Events.List)
	}
}

func TestARemovalThatIsRefusedIsNotedOnceHoweverOftenItIsTried(t *testing.T) {
	r := drifted(t)
	d := New(r.Deps, disruption.Options{})
	refused := 0
	r.API.Before = func(verb string, o client.Object) error {
		if verb == "delete" && o.GetName() == "claim-a" {
			refused++
			return apierrors.NewForbidden(schema.GroupResource{Resource: "nodeclaims"}, "claim-a", errors.New("a policy says no"))
		}
		return nil
	}
	for range 8 {
		r.Sync()
		_, err := d.Pass(ctx)
		if err != nil && !strings.Contains(err.Error(), "a policy says no") {
			t.Fatal(err)
		}
		arrive(r)
		r.Clock.Step(time.Minute)
	}
	np := pool(func(*karpv1.NodePool) {})
	if r.Get(np); refused < 3 || strings.Count(np.Annotations[cluster.MovesAnnotation], `"pods":1`) != 1 {
		t.Errorf("refused %d times, the pool remembers %s", refused, np.Annotations[cluster.MovesAnnotation])
	}
}

func TestAMarkThatIsRefusedOnTheClaimIsTakenOffItsNode(t *testing.T) {
	r := drifted(t)
	r.API.Before = func(verb string, o client.Object) error {
		if _, claim := o.(*karpv1.NodeClaim); claim && verb == "patch" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "nodeclaims"}, o.GetName(), errors.New("a policy says no"))
		}
		return nil
	}
	d := New(r.Deps, disruption.Options{})
	for range 2 {
		r.Sync()
		if _, err := d.Pass(ctx); err == nil || !strings.Contains(err.Error(), "a policy says no") {
			t.Fatalf("the pass ends with %v", err)
		}
		if got := state(r, "a"); got != "" {
			t.Errorf("the machine is left with %q", got)
		}
	}
}

func TestAPoolThatCannotBeWrittenToHoldsUpNoOther(t *testing.T) {
	r := drifted(t)
	np := pool(func(np *karpv1.NodePool) { np.Name, np.UID = "frozen", "frozen" })
	np.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("Never")
	claim, node := machine("b")
	claim.Annotations = map[string]string{
		karpv1.NodePoolHashAnnotationKey: "another", karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion,
	}
	claim.Labels[karpv1.NodePoolLabelKey], node.Labels[karpv1.NodePoolLabelKey] = "frozen", "frozen"
	node.Status.Allocatable = small.Capacity
	for _, o := range []client.Object{np, claim, node, podOn("b", "db")} {
		r.Must(r.Client.Create(ctx, o))
	}
	r.API.Before = func(verb string, o client.Object) error {
		if verb == "patch" && o.GetName() == "frozen" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "nodepools"}, "frozen", errors.New("a webhook says no"))
		}
		return nil
	}
	d := New(r.Deps, disruption.Options{})
	for range 4 {
		r.Sync()
		_, err := d.Pass(ctx)
		if err != nil && !strings.Contains(err.Error(), "a webhook says no") {
			t.Fatal(err)
		}
		arrive(r)
		r.Clock.Step(disruption.SettleTime)
	}
	if a, b := state(r, "a"), state(r, "b"); a != "taint Drifted deleted" || b != "taint Drifted" {
		t.Errorf("machine a: %q, machine b of the pool that cannot be written to: %q", a, b)
	}
}

func TestAReplacementIsContinuedByTheNextProcessAndAskedForOnce(t *testing.T) {
	for _, late := range []bool{false, true} {
		for cut := 1; cut <= 9; cut++ {
			t.Run(fmt.Sprintf("write %d, late %t", cut, late), func(t *testing.T) {
				r := drifted(t)
				r.API.CutAt, r.API.Late = cut, late
				d := New(r.Deps, disruption.Options{})
				for i := range 12 {
					_, _ = d.Pass(ctx) // it may be cut off
					r.Clock.Step(disruption.SettleTime)
					if i == 4 {
						r.Restart()
						d = New(r.Deps, disruption.Options{})
					}
					if i == 8 {
						arrive(r)
					}
					r.Sync()
				}
				if got := state(r, "a"); got != "taint Drifted deleted" {
					t.Errorf("the drifted machine: %q", got)
				}
				if n := len(comers(r)); n != 1 {
					t.Errorf("%d replacements", n)
				}
			})
		}
	}
}

func TestAReplacementThatIsGivenUpLeavesTheMachineAndMakesThePoolRest(t *testing.T) {
	r := drifted(t)
	d := New(r.Deps, disruption.Options{})
	for attempt := 1; attempt <= 3; attempt++ {
		pass(t, r, d)
		r.Clock.Step(disruption.SettleTime)
		pass(t, r, d)
		if n := len(comers(r)); n != 1 {
			t.Fatalf("attempt %d: %d replacements", attempt, n)
		}
		for _, claim := range comers(r) {
			r.Delete(&claim)
		}
		pass(t, r, d)
		if got := state(r, "a"); got != "" {
			t.Fatalf("attempt %d: marks left: %q", attempt, got)
		}
		rest := time.Minute << (attempt - 1)
		r.Clock.Step(rest - time.Second)
		pass(t, r, d)
		if got := state(r, "a"); got != "" {
			t.Fatalf("attempt %d: marked before %v have passed", attempt, rest)
		}
		r.Clock.Step(time.Second)
	}
}

func TestAProtectedPodCallsAReplacementOff(t *testing.T) {
	r := drifted(t)
	d := New(r.Deps, disruption.Options{})
	pass(t, r, d)
	r.Clock.Step(disruption.SettleTime)
	pass(t, r, d)
	p := podOn("a", "web")
	r.Get(p)
	p.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "true"}
	r.Must(r.Client.Update(ctx, p))
	pass(t, r, d)
	if got := state(r, "a"); got != "" || len(comers(r)) != 0 {
		t.Errorf("%q, %d replacements are left", got, len(comers(r)))
	}
}

func TestAMachineWhoseLastDeadlineHasPassedGoesWhateverHolds(t *testing.T) {
	r := drifted(t)
	claim, _ := machine("a")
	r.Get(claim)
	claim.CreationTimestamp = metav1.NewTime(looptest.Noon.Add(-time.Hour))
	claim.Spec.ExpireAfter = karpv1.MustParseNillableDuration("50m")
	r.Must(r.Client.Update(ctx, claim))
	policy := &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: "strict"}}
	policy.Spec.NodePools.Names = []string{"general"}
	policy.Spec.Disruption = &v1alpha1.Disruption{Freeze: "nothing moves", ExpiryDeadline: &metav1.Duration{Duration: 5 * time.Minute}}
	r.Must(r.Client.Create(ctx, policy))
	counted := r.Measure()
	pass(t, r, New(r.Deps, disruption.Options{}))
	r.Get(claim)
	at, err := time.Parse(time.RFC3339, claim.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey])
	if claim.DeletionTimestamp == nil || err != nil || !at.Equal(looptest.Noon.Add(30*time.Second)) {
		t.Errorf("deleted %v, pods may end until %v (%v)", claim.DeletionTimestamp, at, err)
	}
	if got := counted("karpenter_pods_disruption_initiated_total"); got != 1 {
		t.Errorf("%v pods are counted as disrupted, want 1", got)
	}
}
