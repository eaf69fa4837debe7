package interruption

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func approved(action v1alpha1.InterruptionAction) v1alpha1.InterruptionRule {
	r := rule(action, "Maintenance")
	r.Approval = v1alpha1.ApprovalRequired
	return r
}

// requests are all that exist.
func (w *world) requests() []v1alpha1.DisruptionRequest {
	w.Helper()
	var list v1alpha1.DisruptionRequestList
	w.Must(w.Client.List(ctx, &list))
	return list.Items
}

// decide answers the only request, as kubectl would.
func (w *world) decide(d v1alpha1.Decision) {
	w.Helper()
	list := w.requests()
	if len(list) != 1 {
		w.Fatalf("%d requests", len(list))
	}
	list[0].Spec.Decision = d
	w.Must(w.Client.Update(ctx, &list[0]))
}

func (w *world) asksForReplacement() bool {
	return strings.Contains(w.claim.Annotations[disruption.RequestAnnotation], `"Interrupted"`)
}

func TestNothingIsDoneBeforeTheApprovalAndItShowsWhatWouldBe(t *testing.T) {
	w := newWorld(t, approved("Drain"))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db-0"}, Spec: corev1.PodSpec{NodeName: "n"}}
	w.Must(w.Client.Create(ctx, pod))
	w.announce(about(interruption.Maintenance, 24*time.Hour))
	w.look()
	w.look()
	list := w.requests()
	if len(list) != 1 || w.going() || w.cordoned() {
		t.Fatalf("requests %v, going %v, cordoned %v", list, w.going(), w.cordoned())
	}
	s := list[0].Status
	if s.Phase != v1alpha1.RequestProposed || s.PodCount != 1 || len(s.Pods) != 1 || s.Pods[0] != (v1alpha1.RequestPod{Namespace: "default", Name: "db-0", Fate: "Moves"}) ||
		s.Unanswered == "" || s.Node != "n" || s.NodePool != "general" || !s.Deadline.Time.Equal(looptest.Noon.Add(24*time.Hour)) {
		t.Errorf("status %+v", s)
	}
	w.decide(v1alpha1.Deny)
	w.look()
	if s := w.requests()[0].Status; w.going() || s.Phase != v1alpha1.RequestDenied {
		t.Errorf("denied: going %v, phase %s", w.going(), s.Phase)
	}
	w.decide(v1alpha1.Approve)
	w.look()
	w.look()
	if s := w.requests()[0].Status; !w.going() || s.Phase != v1alpha1.RequestDone {
		t.Errorf("approved: going %v, phase %s", w.going(), s.Phase)
	}
	w.announce()
	w.Clock.Step(interruption.Keep + time.Second)
	w.look()
	if list := w.requests(); len(list) > 0 {
		t.Errorf("a day later there is still %s", list[0].Name)
	}
}

func TestAnAnswerThatIsThereBeforeTheQuestionCounts(t *testing.T) {
	w := newWorld(t, approved("Drain"))
	early := &v1alpha1.DisruptionRequest{ObjectMeta: metav1.ObjectMeta{Name: "from-git"}}
	early.Spec = v1alpha1.DisruptionRequestSpec{NodeClaim: "c", Event: "e1", Action: "Drain", Decision: v1alpha1.Approve}
	w.Must(w.Client.Create(ctx, early))
	w.look()
	w.announce(about(interruption.Maintenance, 24*time.Hour))
	w.look()
	if list := w.requests(); !w.going() || len(list) != 1 || list[0].Status.Phase != v1alpha1.RequestApproved {
		t.Errorf("going %v, requests %v", w.going(), list)
	}
}

func TestAReplacementIsAskedForOnTheClaimAndTakenBack(t *testing.T) {
	w := newWorld(t, rule("Replace", "Maintenance"))
	e := about(interruption.Maintenance, 24*time.Hour)
	w.announce(e)
	w.look()
	if !w.asksForReplacement() || w.going() {
		t.Fatalf("annotations %v, going %v", w.claim.Annotations, w.going())
	}
	e.State = interruption.Cancelled
	w.announce(e)
	w.look()
	if w.asksForReplacement() {
		t.Fatal("the event is cancelled and a replacement is asked for")
	}
	w.announce(about(interruption.Maintenance, 29*time.Minute))
	w.look()
	if !w.going() {
		t.Error("the last moment has come and the machine does not go")
	}
}

// TestAnApprovedActionIsMadeGoodWhereverItIsCutOff cuts the process off around
// every write from the question to the request for a replacement.
func TestAnApprovedActionIsMadeGoodWhereverItIsCutOff(t *testing.T) {
	for k := 1; k < 12; k++ {
		for _, late := range []bool{false, true} {
			w := newWorld(t, approved("Replace"))
			w.announce(about(interruption.Maintenance, 24*time.Hour))
			cut := func(at int) {
				w.Restart()
				w.API.CutAt, w.API.Late = at, late
				_, _ = New(w.Deps, &w.said).Look(ctx)
			}
			cut(k)
			w.look()
			w.decide(v1alpha1.Approve)
			cut(k)
			w.look()
			if list := w.requests(); len(list) != 1 || list[0].Status.Phase != v1alpha1.RequestApproved || !w.asksForReplacement() {
				t.Errorf("cut %d, late %v: requests %v, annotations %v", k, late, list, w.claim.Annotations)
			}
		}
	}
}

func TestARateLimitHoldsAcrossRestarts(t *testing.T) {
	w := newWorld(t, rule("Drain", "Maintenance"))
	policy := &v1alpha1.NodePolicy{}
	w.Must(w.Client.Get(ctx, types.NamespacedName{Name: "policy"}, policy))
	policy.Spec.Interruption.Rates = []v1alpha1.InterruptionRate{{Scope: "Pool", Burst: 1, Every: metav1.Duration{Duration: time.Hour}}}
	w.Must(w.Client.Update(ctx, policy))
	pool := &karpv1.NodePool{}
	w.Must(w.Client.Get(ctx, types.NamespacedName{Name: "general"}, pool))
	pool.Annotations = map[string]string{cluster.BucketsAnnotation: `{"pool":"` + looptest.Noon.Add(30*time.Minute).Format(time.RFC3339) + `"}`}
	w.Must(w.Client.Update(ctx, pool))
	w.announce(about(interruption.Maintenance, 24*time.Hour))
	w.look()
	if c := w.claim.StatusConditions().Get(snapshot.Interrupted); w.going() || c.Reason != "RateLimited" {
		t.Fatalf("going %v, condition %+v", w.going(), c)
	}
	w.Clock.Step(30 * time.Minute)
	w.look()
	w.Must(w.Client.Get(ctx, types.NamespacedName{Name: "general"}, pool))
	if want := looptest.Noon.Add(90 * time.Minute).Format(time.RFC3339); !w.going() || !strings.Contains(pool.Annotations[cluster.BucketsAnnotation], want) {
		t.Errorf("going %v, buckets %s, want %s", w.going(), pool.Annotations[cluster.BucketsAnnotation], want)
	}
}

func TestAPoolThatCannotBeWrittenToHoldsAMachineUpToItsLastMomentOnly(t *testing.T) {
	w := newWorld(t, rule("Drain", "Maintenance"))
	policy := &v1alpha1.NodePolicy{}
	w.Must(w.Client.Get(ctx, types.NamespacedName{Name: "policy"}, policy))
	policy.Spec.Interruption.Rates = []v1alpha1.InterruptionRate{{Scope: "Pool", Burst: 1, Every: metav1.Duration{Duration: time.Hour}}}
	w.Must(w.Client.Update(ctx, policy))
	w.announce(about(interruption.Maintenance, 24*time.Hour))
	look := func() {
		w.Restart()
		w.API.Before = func(verb string, o client.Object) error {
			if _, pool := o.(*karpv1.NodePool); pool {
				return errors.New("a webhook says no")
			}
			return nil
		}
		if _, err := New(w.Deps, &w.said).Look(ctx); err == nil || !strings.Contains(err.Error(), "a webhook says no") {
			t.Errorf("error %v", err)
		}
		w.Get(w.claim)
	}
	if look(); w.going() {
		t.Error("the machine goes although its rate could not be noted")
	}
	w.Clock.Step(24*time.Hour - time.Second)
	if look(); !w.going() {
		t.Error("the machine is not drained in its last moment")
	}
}

func TestPodsThatNeedNotWaitAreEvictedAndTheMachineStays(t *testing.T) {
	r := rule("Drain", "Maintenance")
	r.LeadTime = &metav1.Duration{Duration: time.Hour}
	r.Waiting = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	w := newWorld(t, r)
	for _, app := range []string{"db", "web"} {
		w.Must(w.Client.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app, Labels: map[string]string{"app": app}}, Spec: corev1.PodSpec{NodeName: "n"}}))
	}
	w.announce(about(interruption.Maintenance, 24*time.Hour))
	w.look()
	var pods corev1.PodList
	w.Must(w.Client.List(ctx, &pods))
	if len(pods.Items) != 1 || pods.Items[0].Name != "db" || !w.cordoned() || w.going() {
		t.Errorf("pods %v, cordoned %v, going %v", pods.Items, w.cordoned(), w.going())
	}
}
