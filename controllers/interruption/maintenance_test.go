package interruption_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/interruption"
	"github.com/millwright-dev/millwright/controllers/lifecycle"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/controllers/termination"
	engine "github.com/millwright-dev/millwright/engine/interruption"
	machine "github.com/millwright-dev/millwright/engine/lifecycle"
)

// budgeted is for how long a budget refuses to let the database go.
const budgeted = 40 * time.Minute

// story is what happens in the two weeks between the announcement of a maintenance and
// the maintenance itself, in virtual time: to a machine with a database, for which the
// timetable is kept, and a web server.
type story struct {
	*testing.T
	*looptest.Rig
	event cloud.Event
	// log is what has been done, each with its time.
	log []string
	// began is when the machine began to go, done when it was gone.
	began, done time.Time
}

// Events is cloud.EventSource's.
func (s *story) Events(context.Context) ([]cloud.Event, error) { return []cloud.Event{s.event}, nil }

var ctx = context.Background()

func newStory(t *testing.T, announced time.Time, schedule string, duration time.Duration) *story {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool"}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: looptest.Class.Group, Kind: looptest.Class.Kind, Name: looptest.Class.Name}
	policy := &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: "policy"}}
	policy.Spec.NodePools.Names = []string{"default"}
	policy.Spec.Interruption = &v1alpha1.Interruption{Rules: []v1alpha1.InterruptionRule{{
		Events: []v1alpha1.EventKind{"Maintenance"}, Action: "Drain",
		Windows: []v1alpha1.Window{{TimeZone: "Europe/Berlin", Schedule: schedule, Duration: metav1.Duration{Duration: duration}}},
		Waiting: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
	}}}
	s := &story{T: t, Rig: looptest.New(t, pool, policy)}
	s.Clock.SetTime(announced)
	claim := s.NewClaim("c")
	claim.Finalizers = []string{machine.Finalizer}
	s.Must(s.Client.Create(ctx, claim))
	m := &looptest.Machine{Instance: cloud.Instance{ProviderID: "test://1", Token: string(claim.UID), Claim: "c", State: cloud.Running, Launched: announced}}
	s.Cloud.Ledger = append(s.Cloud.Ledger, m)
	claim.Status.ProviderID, claim.Status.NodeName = m.ProviderID, "n"
	for _, condition := range []string{"Launched", "Registered", "Initialized"} {
		claim.StatusConditions().SetTrue(condition)
	}
	s.Must(s.Client.Status().Update(ctx, claim))
	node := s.Join(m, "n")
	node.Finalizers = []string{machine.Finalizer}
	for _, label := range []string{karpv1.NodeRegisteredLabelKey, karpv1.NodeInitializedLabelKey} {
		node.Labels[label] = "true"
	}
	node.Labels["karpenter.kwok.sh/kwoknodeclass"], node.Labels[karpv1.NodePoolLabelKey] = "default", "default"
	s.Must(s.Client.Update(ctx, node))
	for _, app := range []string{"db", "web"} {
		s.Must(s.Client.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app, Labels: map[string]string{"app": app}},
			Spec:       corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}))
	}
	s.event = cloud.Event{
		ID: "e1", Kind: engine.Maintenance, Code: engine.Stop, Machine: "1", Issued: announced,
		NotBefore: announced.Add(14 * 24 * time.Hour), State: engine.Announced,
	}
	return s
}

// say notes what has been done.
func (s *story) say(what string) {
	s.log = append(s.log, s.Clock.Now().UTC().Format("01-02T15:04 ")+what)
}

// step is what a process that has just started does: it answers the announcement,
// and drains and ends what goes.
func (s *story) step() {
	s.Helper()
	s.Restart()
	s.API.Before = func(verb string, o client.Object) error {
		if verb == "evict" && o.GetName() == "db" && s.Clock.Since(s.began) < budgeted {
			return apierrors.NewTooManyRequests("the budget allows none", 0)
		}
		return nil
	}
	before := s.state()
	_, err := interruption.New(s.Deps, s).Look(ctx)
	s.Must(err)
	if s.began.IsZero() && s.going() {
		s.began = s.Clock.Now()
	}
	s.Cloud.Step()
	s.Sync()
	_, err = termination.New(s.Deps).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: "n"}})
	s.Must(err)
	_, err = lifecycle.New(s.Deps).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: "c"}})
	s.Must(err)
	for i, now := range s.state() {
		if now != before[i] {
			s.say(now)
		}
	}
	if s.done.IsZero() && !s.Get(&karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}) {
		s.done = s.Clock.Now()
	}
}

func (s *story) going() bool {
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	return !s.Get(claim) || claim.DeletionTimestamp != nil
}

// state is how machine, Node and pods are.
func (s *story) state() []string {
	s.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	out := []string{"claim stays", "node uncordoned"}
	if s.going() {
		out[0] = "claim goes"
	}
	switch {
	case !s.Get(node):
		out[1] = "node gone"
	case engine.HasCordon(node):
		out[1] = "node cordoned"
	case len(node.Spec.Taints) > 0:
		out[1] = "node tainted"
	}
	for _, app := range []string{"db", "web"} {
		if s.Get(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app}}) {
			out = append(out, app+" runs")
		} else {
			out = append(out, app+" gone")
		}
	}
	return out
}

// until lets time pass, with a step every three hours until the machine begins to go or the
// time has come, a second before it, and every minute from then on.
func (s *story) until(end, begins time.Time) {
	s.Helper()
	for at := s.Clock.Now(); at.Before(end); {
		switch {
		case !s.began.IsZero():
			at = at.Add(time.Minute)
		case at.Before(begins.Add(-3 * time.Hour)):
			at = at.Add(3 * time.Hour)
		case at.Before(begins.Add(-time.Second)):
			at = begins.Add(-time.Second)
		case at.Before(begins):
			at = begins
		default:
			at = at.Add(3 * time.Hour)
		}
		s.Clock.SetTime(at)
		s.step()
		if !s.done.IsZero() {
			return
		}
	}
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Maintenance two weeks away, with a window on Sunday night by the clock of Berlin,
// over the nights in which summer time begins and ends: the database is not touched
// before the window, and the machine is gone long before the maintenance.
func TestMaintenanceIsDoneInItsWindowAndBeforeItsDeadlineAcrossSummerTime(t *testing.T) {
	const night, sliver = "0 2 * * SUN", "15 2 * * SUN"
	for _, tt := range []struct {
		name, announced, schedule string
		open                      time.Duration
		begins                    string
	}{
		// 02:00 does not exist: clocks go from 01:59 to 03:00.
		{"summer time begins", "2026-03-22T03:00:00Z", night, 2 * time.Hour, "2026-03-29T01:00:00Z"},
		// The window lies in the hour that does not exist, and comes a week later.
		{"in the hour that does not exist", "2026-03-22T03:00:00Z", sliver, 30 * time.Minute, "2026-04-05T00:15:00Z"},
		{"summer time ends", "2026-10-18T03:00:00Z", night, 2 * time.Hour, "2026-10-25T00:00:00Z"},
		// The first of the two.
		{"in the hour that comes twice", "2026-10-18T03:00:00Z", sliver, 30 * time.Minute, "2026-10-25T00:15:00Z"},
		// In the second of the two the window is still open.
		{"announced in the hour that comes twice", "2026-10-25T01:20:00Z", sliver, 30 * time.Minute, "2026-10-25T01:20:00Z"},
		// A week after the change the night is an ordinary one, an hour later by UTC.
		{"a week later", "2026-10-25T03:00:00Z", night, 2 * time.Hour, "2026-11-01T01:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStory(t, moment(t, tt.announced), tt.schedule, tt.open)
			begins := moment(t, tt.begins)
			s.step()
			s.until(s.event.NotBefore, begins)
			at := func(d time.Duration, what string) string { return begins.Add(d).UTC().Format("01-02T15:04 ") + what }
			first := moment(t, tt.announced).UTC().Format("01-02T15:04 ")
			want := []string{first + "node cordoned", first + "web gone", at(0, "claim goes"), at(budgeted, "db gone")}
			if begins.Equal(moment(t, tt.announced)) {
				want = []string{at(0, "claim goes"), at(time.Minute, "node tainted"), at(time.Minute, "web gone"), at(budgeted, "db gone")}
			}
			if len(s.log) < len(want) || !slices.Equal(s.log[:len(want)], want) {
				t.Errorf("what was done:\n%q\nwant first\n%q", s.log, want)
			}
			if !s.began.Equal(begins) || s.done.IsZero() || !s.done.Before(s.event.NotBefore) {
				t.Errorf("began at %v, want %v; done at %v, the deadline is %v", s.began, begins, s.done, s.event.NotBefore)
			}
			t.Logf("announced %s, began %s, done %s, deadline %s", tt.announced, s.began.UTC().Format(time.RFC3339), s.done.UTC().Format(time.RFC3339), s.event.NotBefore.Format(time.RFC3339))
		})
	}
}

// What is over before its window comes leaves the machine as it was, the cordon that
// kept new pods away included; and what was over when it was announced is not acted
// upon at all.
func TestMaintenanceThatIsOverIsTakenBackAndNeverComes(t *testing.T) {
	for _, state := range []engine.State{engine.Cancelled, engine.Completed} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, known before: %v", state, known), func(t *testing.T) {
				s := newStory(t, moment(t, "2026-10-18T03:00:00Z"), "0 2 * * SUN", 2*time.Hour)
				var want []string
				if known {
					s.step()
					s.until(moment(t, "2026-10-20T03:00:00Z"), s.event.NotBefore)
					want = []string{"10-18T03:00 node cordoned", "10-18T03:00 web gone", "10-20T03:00 node uncordoned"}
				}
				s.event.State = state
				s.step()
				s.until(s.event.NotBefore.Add(24*time.Hour), s.event.NotBefore)
				if !slices.Equal(s.log, want) {
					t.Errorf("what was done:\n%q\nwant\n%q", s.log, want)
				}
			})
		}
	}
}
