package disruption

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/disruption/idle"
)

func emptyStore() *cluster.Store { return cluster.NewStore() }

func before(d time.Duration) metav1.Time { return metav1.NewTime(looptest.Noon.Add(-d)) }

func TestOnlyEventsTenSecondsApartAreRecordedAndNoneTwice(t *testing.T) {
	claim, node := machine("a")
	r := rig(t, pool(nil), claim, node)
	events := &PodEvents{r.Deps}
	for _, step := range []struct{ ago, want time.Duration }{
		{60 * time.Second, 60 * time.Second}, // the first
		{51 * time.Second, 60 * time.Second}, // too close
		{50 * time.Second, 50 * time.Second},
		{50 * time.Second, 50 * time.Second}, // a replay
		{90 * time.Second, 50 * time.Second}, // older
		{10 * time.Second, 10 * time.Second},
	} {
		if _, err := events.Reconcile(ctx, idle.Event{Node: "a", At: looptest.Noon.Add(-step.ago).Unix()}); err != nil {
			t.Fatal(err)
		}
		r.Get(claim)
		if got := looptest.Noon.Sub(claim.Status.LastPodEventTime.Time); got != step.want {
			t.Errorf("after an event %v ago the last is %v ago, want %v", step.ago, got, step.want)
		}
	}
	if want := 5; r.API.Writes != want { // the second and third are also noted as a streak
		t.Errorf("%d writes, want %d", r.API.Writes, want)
	}
}

func TestARestartDoesNotBeginTheQuietTimeAnew(t *testing.T) {
	claim, node := machine("a")
	p := podOn("a", "web")
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: before(time.Hour)}}
	r := rig(t, pool(nil), claim, node, p)
	for range 3 {
		r.Restart()
		e, _ := idle.Last(p, r.Clock.Now())
		if _, err := (&PodEvents{r.Deps}).Reconcile(ctx, e); err != nil {
			t.Fatal(err)
		}
		r.Clock.Step(10 * time.Minute)
	}
	r.Get(claim)
	if got := looptest.Noon.Sub(claim.Status.LastPodEventTime.Time); got != time.Hour {
		t.Errorf("the last pod event is %v ago, want 1h", got)
	}
}

func TestThatPodsComeAgainAndAgainIsRecorded(t *testing.T) {
	claim, node := machine("a")
	r := rig(t, pool(func(np *karpv1.NodePool) {
		np.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("2m")
	}), claim, node)
	events := &PodEvents{r.Deps}
	for _, step := range []struct {
		ago      time.Duration
		events   int
		interval time.Duration
	}{
		{20 * time.Minute, 0, 0},
		{19 * time.Minute, 2, time.Minute},
		{18 * time.Minute, 3, time.Minute},
		{16 * time.Minute, 4, 80 * time.Second},
		{10 * time.Minute, 0, 0}, // it was quiet in between
		{9 * time.Minute, 2, time.Minute},
	} {
		if _, err := events.Reconcile(ctx, idle.Event{Node: "a", At: looptest.Noon.Add(-step.ago).Unix()}); err != nil {
			t.Fatal(err)
		}
		r.Get(claim)
		s := idle.StreakOf(claim.Annotations)
		if s.Events != step.events || s.Events > 0 && s.Interval(claim.Status.LastPodEventTime.Time) != step.interval {
			t.Errorf("after an event %v ago: %+v", step.ago, s)
		}
	}
}

func TestThePodsOfJobsCountUnlessAPolicySaysOtherwise(t *testing.T) {
	ignoring := &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: "jobs"}}
	ignoring.Spec.NodePools.Names = []string{"general"}
	ignoring.Spec.Disruption = &v1alpha1.Disruption{IgnoreJobs: true}
	for _, ignored := range []bool{false, true} {
		claim, node := machine("a")
		r := rig(t, pool(nil), claim, node)
		if ignored {
			r.Store.Update(ignoring)
		}
		p := podOn("a", "job")
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "j", UID: "j"}}
		e, _ := idle.Last(p, looptest.Noon)
		if _, err := (&PodEvents{r.Deps}).Reconcile(ctx, e); err != nil {
			t.Fatal(err)
		}
		r.Get(claim)
		if counted := !claim.Status.LastPodEventTime.IsZero(); counted == ignored {
			t.Errorf("ignored by policy %t, counted %t", ignored, counted)
		}
	}
}
