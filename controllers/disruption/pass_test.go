package disruption

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestAnEmptyMachineIsMarkedAndRemovedOnlyAfterTheMarkHasSettled(t *testing.T) {
	claim, node := machine("a")
	r := rig(t, pool(nil), claim, node)
	d := New(r.Deps, disruption.Options{})

	if wait := pass(t, r, d); wait > retry {
		t.Errorf("a fresh mark is looked at again after %v", wait)
	}
	if got := state(r, "a"); got != "taint Empty" {
		t.Fatalf("after the first pass: %q", got)
	}
	pass(t, r, d)
	if got := state(r, "a"); got != "taint Empty" {
		t.Fatalf("before the mark has settled: %q", got)
	}
	r.Clock.Step(disruption.SettleTime)
	pass(t, r, d)
	if got := state(r, "a"); got != "taint Empty deleted" {
		t.Fatalf("after the mark has settled: %q", got)
	}
	for _, want := range []string{"Node/a DisruptionTerminating: ", "NodeClaim/claim-a DisruptionTerminating: "} {
		if !published(r, want) {
			t.Errorf("no event %q in %q", want, r.Events.List)
		}
	}
}

// Machines of different commands go side by side: each write waits here for its like.
func TestMachinesAreMarkedAndRemovedSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		oneClaim, one := machine("a")
		otherClaim, other := machine("b")
		r := rig(t, pool(nil), oneClaim, one, otherClaim, other)
		d := New(r.Deps, disruption.Options{})
		var taints, deletions sync.WaitGroup
		taints.Add(2)
		deletions.Add(2)
		r.API.Before = func(verb string, o client.Object) error {
			meet := &deletions
			if _, node := o.(*corev1.Node); node && verb == "patch" {
				meet = &taints
			} else if verb != "delete" {
				return nil
			}
			meet.Done()
			meet.Wait()
			return nil
		}
		pass(t, r, d)
		r.Clock.Step(disruption.SettleTime)
		pass(t, r, d)
		for _, name := range []string{"a", "b"} {
			if got := state(r, name); got != "taint Empty deleted" {
				t.Errorf("machine %s: %q", name, got)
			}
		}
	})
}

func TestAPodThatWasBoundBehindTheMarkSavesTheMachine(t *testing.T) {
	claim, node := machine("a")
	r := rig(t, pool(nil), claim, node)
	d := New(r.Deps, disruption.Options{})
	pass(t, r, d)
	r.Clock.Step(disruption.SettleTime)

	// The pod is in the API server; this process has not heard of it.
	r.Must(r.Client.Create(ctx, podOn("a", "late")))
	if _, err := d.Pass(ctx); err != nil {
		t.Fatal(err)
	}
	if got := state(r, "a"); got != "" {
		t.Errorf("marks left: %q", got)
	}
}

func TestAMachineThatTheLastLookSavesDoesNotHoldUpTheOthersOfItsCommand(t *testing.T) {
	var objects []client.Object
	for _, name := range []string{"a", "b", "c"} {
		claim, node := machine(name)
		node.Status.Allocatable = small.Capacity
		p := disruption.Progress{ID: "1", Cause: disruption.Underutilized, Claims: []string{"claim-a", "claim-b"}, Replaced: true, Replacements: []string{"claim-c"}}
		if name == "c" {
			claim.Annotations = map[string]string{snapshot.ReplacesAnnotation: p.ID}
			objects = append(objects, claim, node)
			continue
		}
		claim.Annotations = map[string]string{disruption.CommandAnnotation: p.String()}
		claim.Status.Conditions = append(claim.Status.Conditions, status.Condition{
			Type: karpv1.ConditionTypeDisruptionReason, Status: metav1.ConditionTrue, Reason: string(p.Cause),
			LastTransitionTime: metav1.NewTime(looptest.Noon.Add(-time.Minute)),
		})
		node.Spec.Taints = append(node.Spec.Taints, eviction.DisruptedTaint)
		objects = append(objects, claim, node, podOn(name, "web-"+name))
	}
	r := rig(t, append(objects, pool(func(np *karpv1.NodePool) {
		np.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized
	}))...)
	d := New(r.Deps, disruption.Options{})
	r.Sync()
	r.Must(r.Client.Create(ctx, guardedOn("a")))
	for range 2 {
		_, err := d.Pass(ctx)
		r.Must(err)
		r.Sync()
	}
	if a, b := state(r, "a"), state(r, "b"); a != "" || b != "taint Underutilized deleted" {
		t.Errorf("a has the marks %q, b %q", a, b)
	}
}

func TestNoMachineIsMarkedBeforeTheWatchHasToldOfThePodThatSavedOne(t *testing.T) {
	claim, node := machine("a")
	r := rig(t, pool(nil), claim, node)
	d := New(r.Deps, disruption.Options{})
	pass(t, r, d)
	r.Must(r.Client.Create(ctx, podOn("a", "late")))
	for range 3 { // while no event of a pod arrives
		r.Clock.Step(disruption.SettleTime)
		if _, err := d.Pass(ctx); err != nil {
			t.Fatal(err)
		}
		if got := state(r, "a"); got != "" {
			t.Fatalf("marks: %q", got)
		}
	}
	if v, _ := d.Last().Verdict("a"); v.Reason.Code != plan.WatchBehind {
		t.Errorf("the machine stays because it %s", v.Reason.Message())
	}
	pass(t, r, d)
	if v, _ := d.Last().Verdict("a"); v.Reason.Code == plan.WatchBehind || state(r, "a") != "" {
		t.Errorf("after the event the machine stays because it %s", v.Reason.Message())
	}
	r.Delete(podOn("a", "late"))
	r.Clock.Step(time.Minute)
	pass(t, r, d)
	if got := state(r, "a"); got != "taint Empty" {
		t.Errorf("after the pod has gone: %q", got)
	}
}

func TestWhateverTurnsUpBeforeTheRemovalRollsTheMarksBack(t *testing.T) {
	for name, happens := range map[string]func(*looptest.Rig){
		"a pod": func(r *looptest.Rig) { r.Must(r.Client.Create(ctx, podOn("a", "late"))) },
		"do-not-disrupt on the node": func(r *looptest.Rig) {
			_, node := machine("a")
			r.Get(node)
			node.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "true"}
			r.Must(r.Client.Update(ctx, node))
		},
		"do-not-disrupt on a pod of a DaemonSet": func(r *looptest.Rig) {
			p := podOn("a", "daemon")
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d"}}
			p.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "true"}
			r.Must(r.Client.Create(ctx, p))
		},
		"a budget that closes": func(r *looptest.Rig) {
			np := pool(nil)
			r.Get(np)
			np.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "0"}}
			r.Must(r.Client.Update(ctx, np))
		},
		"a pool that goes": func(r *looptest.Rig) { r.Delete(pool(nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			claim, node := machine("a")
			r := rig(t, pool(nil), claim, node)
			d := New(r.Deps, disruption.Options{})
			pass(t, r, d)
			happens(r)
			r.Clock.Step(disruption.SettleTime)
			pass(t, r, d)
			if got := state(r, "a"); got != "" {
				t.Errorf("marks left: %q", got)
			}
		})
	}
}

func TestAProcessThatIsCutOffAtAnyWriteIsContinuedByTheNext(t *testing.T) {
	for _, late := range []bool{false, true} {
		for cut := 1; cut <= 4; cut++ {
			t.Run(fmt.Sprintf("write %d, late %t", cut, late), func(t *testing.T) {
				claim, node := machine("a")
				busyClaim, busy := machine("b")
				busy.Spec.Taints = []corev1.Taint{eviction.DisruptedTaint} // of a command that nobody remembers
				r := rig(t, pool(nil), claim, node, busyClaim, busy, podOn("b", "web"))
				r.API.CutAt, r.API.Late = cut, late
				d := New(r.Deps, disruption.Options{})
				for range 3 {
					_, _ = d.Pass(ctx) // it may be cut off
					r.Clock.Step(disruption.SettleTime)
				}
				r.Restart()
				d = New(r.Deps, disruption.Options{})
				for range 3 {
					pass(t, r, d)
					r.Clock.Step(disruption.SettleTime)
				}
				if got := state(r, "a"); got != "taint Empty deleted" {
					t.Errorf("the empty machine: %q", got)
				}
				if got := state(r, "b"); got != "" {
					t.Errorf("the busy machine keeps %q", got)
				}
			})
		}
	}
}

func TestABudgetHoldsOverPassesAndRestarts(t *testing.T) {
	objects := []client.Object{pool(func(np *karpv1.NodePool) { np.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "2"}} })}
	const machines = 7
	for i := range machines {
		claim, node := machine(fmt.Sprintf("n%d", i))
		objects = append(objects, claim, node)
	}
	r := rig(t, objects...)
	for range 20 {
		r.Restart()
		pass(t, r, New(r.Deps, disruption.Options{}))
		marked := 0
		for i := range machines {
			if s := state(r, fmt.Sprintf("n%d", i)); s != "" && s != "gone" {
				marked++
			}
		}
		if marked > 2 {
			t.Fatalf("%d machines are disrupted at once", marked)
		}
		r.Clock.Step(disruption.SettleTime)
		// Every other time the machines that were deleted are really gone.
		for i, claim := range r.Claims() {
			if claim.DeletionTimestamp != nil && i%2 == 0 {
				claim.Finalizers = nil
				r.Must(r.Client.Update(ctx, &claim))
				r.Store.Delete(&claim)
				r.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.NodeName}})
			}
		}
	}
	if left := len(r.Claims()); left > 1 {
		t.Errorf("%d machines are left", left)
	}
}

func TestConsolidatableFollowsThePodsThatWouldHaveToMove(t *testing.T) {
	claim, node := machine("a")
	web := podOn("a", "web")
	web.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(looptest.Noon)}}
	r := rig(t, pool(nil), claim, node, web)
	d := New(r.Deps, disruption.Options{})
	consolidatable := func() bool {
		r.Get(claim)
		return claim.StatusConditions().IsTrue(karpv1.ConditionTypeConsolidatable)
	}
	for _, at := range []struct {
		after time.Duration
		event bool
		want  bool
	}{{0, false, false}, {29 * time.Second, false, false}, {time.Second, false, true}, {time.Minute, true, false}, {30 * time.Second, false, true}} {
		r.Clock.Step(at.after)
		if at.event {
			r.Get(claim)
			claim.Status.LastPodEventTime = metav1.NewTime(r.Clock.Now())
			r.Must(r.Client.Status().Update(ctx, claim))
			other := podOn("a", "api")
			other.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(r.Clock.Now())}}
			r.Must(r.Client.Create(ctx, other))
		}
		pass(t, r, d)
		if got := consolidatable(); got != at.want {
			t.Errorf("at %v: Consolidatable is %t", r.Clock.Since(looptest.Noon), got)
		}
	}
	if got := state(r, "a"); got != "" {
		t.Errorf("a machine with a pod is marked: %q", got)
	}
}

func TestWhoeverKeepsAMachineIsNamedInAnEvent(t *testing.T) {
	claim, node := machine("a")
	guarded := guardedOn("a")
	shutClaim, shut := machine("b")
	r := rig(t, pool(func(np *karpv1.NodePool) { np.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "0"}} }), claim, node, guarded, shutClaim, shut)
	d := New(r.Deps, disruption.Options{})
	pass(t, r, d)
	pass(t, r, d)
	for _, want := range []string{
		`Node/a DisruptionBlocked: pod/guarded -n default has the annotation`,
		`NodeClaim/claim-a DisruptionBlocked: pod/guarded -n default has the annotation`,
		`NodePool/general DisruptionBlocked: the disruption budget {nodes: "0"}`,
	} {
		if !published(r, want) {
			t.Errorf("no event %q in\n%s", want, strings.Join(r.Events.List, "\n"))
		}
	}
	if len(r.Events.List) != 3 {
		t.Errorf("events were repeated:\n%s", strings.Join(r.Events.List, "\n"))
	}
	if v, ok := d.Last().Verdict("b"); !ok || v.Disrupting {
		t.Errorf("verdict of b: %+v", v)
	}
}

func TestMachinesOfAnotherProviderAreLeftAlone(t *testing.T) {
	claim, node := machine("a")
	claim.Spec.NodeClassRef.Group = "karpenter.azure.com"
	node.Spec.Taints = []corev1.Taint{eviction.DisruptedTaint}
	r := rig(t, pool(nil), claim, node)
	pass(t, r, New(r.Deps, disruption.Options{}))
	if r.API.Writes != 0 {
		t.Errorf("%d writes", r.API.Writes)
	}
}

func TestNothingIsDecidedBeforeTheStateIsComplete(t *testing.T) {
	claim, node := machine("a")
	r := rig(t, pool(nil), claim, node)
	d := New(r.Deps, disruption.Options{})
	d.Store = emptyStore()
	if _, err := d.Pass(ctx); err != nil || r.API.Writes != 0 {
		t.Errorf("%d writes, error %v", r.API.Writes, err)
	}
}
