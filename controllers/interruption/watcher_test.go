package interruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var ctx = context.Background()

// said is a source that lists what stands.
type said []cloud.Event

func (s *said) Events(context.Context) ([]cloud.Event, error) { return *s, nil }

// world is one machine of the pool general, with a policy.
type world struct {
	*testing.T
	*looptest.Rig
	said  said
	claim *karpv1.NodeClaim
	node  *corev1.Node
}

func newWorld(t *testing.T, rules ...v1alpha1.InterruptionRule) *world {
	np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general", UID: "pool"}}
	np.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: looptest.Class.Group, Kind: looptest.Class.Kind, Name: looptest.Class.Name}
	policy := &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: "policy"}}
	policy.Spec.NodePools.Names = []string{"general"}
	policy.Spec.Interruption = &v1alpha1.Interruption{Rules: rules}
	labels := map[string]string{
		karpv1.NodePoolLabelKey: "general", karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true",
		karpv1.CapacityTypeLabelKey: "spot", corev1.LabelInstanceTypeStable: "m", corev1.LabelTopologyZone: "a",
	}
	w := &world{T: t}
	w.claim = &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "claim", Labels: labels, Finalizers: []string{karpv1.TerminationFinalizer}}}
	w.claim.Spec.NodeClassRef = np.Spec.Template.Spec.NodeClassRef
	w.claim.Status.ProviderID, w.claim.Status.NodeName = "kwok://n", "n"
	w.claim.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeInitialized, Status: metav1.ConditionTrue}}
	w.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "node", Labels: labels}}
	w.node.Spec.ProviderID = "kwok://n"
	w.Rig = looptest.New(t, np, policy, w.claim, w.node)
	return w
}

// announce says what stands from now on.
func (w *world) announce(list ...cloud.Event) { w.said = list }

// look makes one look as a process that has just started, and reads the objects
// again.
func (w *world) look() {
	w.Helper()
	w.Restart()
	w.lookAs(New(w.Deps, &w.said))
	w.Get(w.claim)
	w.Get(w.node)
}

// lookAs makes a look that must go well.
func (w *world) lookAs(watcher *Watcher) time.Duration {
	w.Helper()
	wait, err := watcher.Look(ctx)
	w.Must(err)
	return wait
}

func (w *world) cordoned() bool { return interruption.HasCordon(w.node) }
func (w *world) going() bool    { return w.claim.DeletionTimestamp != nil }
func (w *world) deadline() string {
	return w.claim.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey]
}

func rule(action v1alpha1.InterruptionAction, events ...v1alpha1.EventKind) v1alpha1.InterruptionRule {
	return v1alpha1.InterruptionRule{Events: events, Action: action}
}

func about(kind interruption.Kind, in time.Duration) cloud.Event {
	return cloud.Event{ID: "e1", Kind: kind, Machine: "n", NotBefore: looptest.Noon.Add(in)}
}

func TestWithoutAPolicyItIsKarpentersTable(t *testing.T) {
	for kind, want := range map[interruption.Kind]string{
		interruption.Spot: "drain", interruption.Maintenance: "drain", interruption.Reservation: "drain",
		interruption.Stopped: "drain", interruption.Terminated: "drain",
		interruption.InstanceImpaired: "terminate", interruption.SystemImpaired: "terminate",
		interruption.Rebalance: "tell", interruption.VolumeImpaired: "tell",
	} {
		w := newWorld(t, rule("Drain", "ZoneImpaired"))
		w.announce(about(kind, 24*time.Hour))
		w.look()
		got := "nothing"
		switch {
		case w.going() && w.deadline() != "":
			got = "terminate"
		case w.going():
			got = "drain"
		case len(w.Events.List) > 0:
			got = "tell"
		}
		if got != want || w.cordoned() {
			t.Errorf("%s: %s, want %s; cordoned %v", kind, got, want, w.cordoned())
		}
	}
}

func TestThePodsOfAMachineThatTheCloudTakesBackAreCounted(t *testing.T) {
	w := newWorld(t, rule("Drain", "ZoneImpaired"))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	pod.Spec.NodeName = "n"
	w.Must(w.Client.Create(ctx, pod))
	w.announce(about(interruption.Spot, 2*time.Minute))
	w.Restart()
	counted := w.Measure()
	w.lookAs(New(w.Deps, &w.said))
	w.Get(w.claim)
	if got := counted("karpenter_pods_disruption_initiated_total"); got != 1 || !w.going() {
		t.Errorf("%v pods are counted as disrupted, want 1; going: %v", got, w.going())
	}
}

// What the cloud ends before it joins counts as a failure, so that its pool does not launch the
// same again and again.
func TestAMachineThatEndsBeforeItJoinsCountsAsAFailure(t *testing.T) {
	for registered, want := range map[bool]string{false: string(lifecycle.MachineEnded), true: ""} {
		w := newWorld(t)
		if registered {
			w.claim.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered)
			w.Must(w.Rig.Client.Status().Update(ctx, w.claim))
		}
		w.announce(about(interruption.Terminated, 0))
		w.look()
		if got := w.claim.Annotations[lifecycle.GivenUpAnnotation]; got != want || !w.going() {
			t.Errorf("registered %v: given up for %q, going %v", registered, got, w.going())
		}
	}
}

func TestAMachineThatIsIgnoredIsNotWrittenTo(t *testing.T) {
	w := newWorld(t, rule("Ignore", "Maintenance", "SpotInterruption"))
	w.Get(w.claim)
	w.Get(w.node)
	before := w.claim.ResourceVersion + w.node.ResourceVersion
	w.announce(about(interruption.Maintenance, time.Minute), about(interruption.Spot, time.Minute))
	w.look()
	w.Clock.Step(2 * time.Minute)
	w.look()
	if after := w.claim.ResourceVersion + w.node.ResourceVersion; after != before || len(w.Events.List) > 0 {
		t.Errorf("versions %s, were %s; events %v", after, before, w.Events.List)
	}
}

func TestACordonIsTakenBackWhenTheEventIsOver(t *testing.T) {
	for _, over := range []string{"cancelled", "completed", "gone"} {
		w := newWorld(t, rule("Cordon", "Maintenance"))
		w.announce(about(interruption.Maintenance, time.Hour))
		w.look()
		if !w.cordoned() || !w.claim.StatusConditions().Get(snapshot.Interrupted).IsTrue() {
			t.Fatalf("cordoned %v, conditions %v", w.cordoned(), w.claim.Status.Conditions)
		}
		e := about(interruption.Maintenance, time.Hour)
		switch over {
		case "cancelled":
			e.State = interruption.Cancelled
			w.announce(e)
		case "completed":
			e.State = interruption.Completed
			w.announce(e)
		case "gone":
			w.announce()
		}
		w.look()
		if w.cordoned() || w.going() {
			t.Errorf("%s: cordoned %v, going %v", over, w.cordoned(), w.going())
		}
	}
}

func TestADrainWaitsForItsWindowAndTellsSo(t *testing.T) {
	r := rule("Drain", "Maintenance")
	r.Windows = []v1alpha1.Window{{TimeZone: "Europe/Berlin", Schedule: "0 2 * * SUN", Duration: metav1.Duration{Duration: 2 * time.Hour}}}
	w := newWorld(t, r)
	w.announce(about(interruption.Maintenance, 14*24*time.Hour))
	w.look()
	c := w.claim.StatusConditions().Get(snapshot.Interrupted)
	if w.going() || !c.IsTrue() || c.Reason != "OutsideWindow" || !strings.Contains(c.Message, "Drain at 2026-03-15T01:00:00Z") {
		t.Fatalf("going %v, condition %+v", w.going(), c)
	}
	w.Clock.SetTime(time.Date(2026, 3, 15, 1, 0, 0, 0, time.UTC))
	w.look()
	if !w.going() {
		t.Error("the window is open and nothing happens")
	}
}

func TestAForcedDrainHasTheDeadlineOfTheEventUnlessAnotherIsSooner(t *testing.T) {
	r := rule("Drain", "SpotInterruption")
	r.AtDeadline = v1alpha1.DeadlineForce
	want := looptest.Noon.Add(2 * time.Minute).Format(time.RFC3339)
	for _, tt := range []struct {
		grace    time.Duration
		had, got string
	}{
		{0, "", want},
		{time.Hour, "", want},
		{time.Minute, "", ""}, // termination writes the sooner one by itself
		{0, looptest.Noon.Add(time.Hour).Format(time.RFC3339), want},
		{0, looptest.Noon.Format(time.RFC3339), looptest.Noon.Format(time.RFC3339)},
	} {
		w := newWorld(t, r)
		w.Get(w.claim)
		if tt.grace > 0 {
			w.claim.Spec.TerminationGracePeriod = &metav1.Duration{Duration: tt.grace}
		}
		if tt.had != "" {
			w.claim.Annotations = map[string]string{karpv1.NodeClaimTerminationTimestampAnnotationKey: tt.had}
		}
		w.Must(w.Client.Update(ctx, w.claim))
		w.announce(about(interruption.Spot, 2*time.Minute))
		w.look()
		if !w.going() || w.deadline() != tt.got {
			t.Errorf("grace %v, had %q: going %v, deadline %q, want %q", tt.grace, tt.had, w.going(), w.deadline(), tt.got)
		}
	}
}

func TestWhatDoesNotCountInADrainIsOnTheClaimBeforeItGoes(t *testing.T) {
	r := rule("Drain", "Maintenance")
	r.DoNotDisrupt, r.PodDisruptionBudgets, r.TerminationGracePeriod = v1alpha1.DoNotDisruptEvict, v1alpha1.RegardIgnore, v1alpha1.RegardIgnore
	w := newWorld(t, r)
	w.Get(w.claim)
	w.claim.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
	w.Must(w.Client.Update(ctx, w.claim))
	w.announce(about(interruption.Maintenance, 24*time.Hour))
	w.Restart()
	w.API.Before = func(verb string, _ client.Object) error {
		if verb == "delete" {
			return errors.New("cut off")
		}
		return nil
	}
	if _, err := New(w.Deps, &w.said).Look(ctx); err == nil {
		t.Error("the deletion did not fail")
	}
	w.Get(w.claim)
	if got := w.claim.Annotations[drain.IgnoresAnnotation]; got != "do-not-disrupt,pod-disruption-budgets" || w.deadline() != drain.Never.Format(time.RFC3339) {
		t.Errorf("ignores %q, deadline %q", got, w.deadline())
	}
	w.look()
	w.look()
	if !w.going() || w.deadline() != drain.Never.Format(time.RFC3339) {
		t.Errorf("going %v, deadline %q", w.going(), w.deadline())
	}
}

func TestASpotOfferingIsAvoidedForAWhile(t *testing.T) {
	w := newWorld(t, rule("Drain", "SpotInterruption"))
	w.announce(about(interruption.Spot, 2*time.Minute))
	w.look()
	key := catalog.Key{Type: "m", Zone: "a", CapacityType: "spot"}
	refused := func() time.Duration { return w.Store.Refused(w.Clock.Now())[key].Sub(looptest.Noon) }
	if refused() != 3*time.Minute {
		t.Errorf("refused until %v", refused())
	}

	// The machine is gone, the process another one.
	w.announce()
	w.Clock.Step(2*time.Minute + 59*time.Second)
	w.look()
	if refused() != 3*time.Minute {
		t.Errorf("after a restart: refused until %v", refused())
	}
	w.Clock.Step(time.Minute)
	again := about(interruption.Spot, 6*time.Minute)
	again.ID = "e2"
	w.announce(again)
	w.look()
	if refused() != 9*time.Minute+59*time.Second {
		t.Errorf("reclaimed again: refused until %v", refused())
	}
}

func TestMachinesOfOthersAreLeftAlone(t *testing.T) {
	w := newWorld(t, rule("Drain", "Maintenance"))
	w.Get(w.claim)
	w.claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "other.io", Kind: "Class", Name: "default"}
	w.Must(w.Client.Update(ctx, w.claim))
	stranger := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: types.UID("s")}, Spec: corev1.NodeSpec{ProviderID: "kwok://s"}}
	w.Must(w.Client.Create(ctx, stranger))
	e := about(interruption.Maintenance, time.Hour)
	e.ID, e.Machine = "e2", "s"
	w.announce(about(interruption.Maintenance, time.Hour), e)
	w.look()
	if w.going() || len(w.Events.List) > 0 {
		t.Errorf("going %v, events %v", w.going(), w.Events.List)
	}
}

// TestALookThatIsCutOffIsMadeGoodByTheNext cuts the process off around every
// write of a forced drain and of a cordon.
func TestALookThatIsCutOffIsMadeGoodByTheNext(t *testing.T) {
	forced := rule("Drain", "SpotInterruption")
	forced.AtDeadline = v1alpha1.DeadlineForce
	for _, kind := range []interruption.Kind{interruption.Spot, interruption.Maintenance} {
		want := ""
		for k := range 8 {
			w := newWorld(t, forced, rule("Cordon", "Maintenance"))
			w.announce(about(kind, 2*time.Minute))
			if k > 0 {
				w.API.CutAt, w.API.Late = (k+1)/2, k%2 == 0
				_, _ = New(w.Deps, &w.said).Look(ctx)
			}
			w.look()
			w.look()
			got := fmt.Sprint(w.going(), w.deadline(), w.cordoned(), w.claim.StatusConditions().Get(snapshot.Interrupted).IsTrue())
			if k == 0 {
				want = got
			}
			if got != want {
				t.Errorf("%s, cut %d: %s, want %s", kind, k, got, want)
			}
		}
	}
}

func TestEventsAreToldOnceOnNodeAndClaim(t *testing.T) {
	w := newWorld(t, rule("Notify", "Maintenance"))
	w.announce(about(interruption.Maintenance, time.Hour))
	watcher := New(w.Deps, &w.said)
	for range 3 {
		w.lookAs(watcher)
		w.Clock.Step(time.Minute)
	}
	told := slices.DeleteFunc(slices.Clone(w.Events.List), func(e string) bool { return !strings.Contains(e, "InstanceUnhealthy") })
	if len(told) != 2 {
		t.Errorf("told %v", w.Events.List)
	}
}
