package disruption

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
)

func emptyStore() *cluster.Store { return cluster.NewStore() }

func before(d time.Duration) metav1.Time { return metav1.NewTime(looptest.Noon.Add(-d)) }

func TestAPodEventHasTheTimeOfThePod(t *testing.T) {
	scheduled := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: before(time.Hour)}}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		ago    time.Duration
		counts bool
	}{
		"bound": {scheduled, time.Hour, true},
		"bound by whoever sets no condition": {func(p *corev1.Pod) {
			start := before(50 * time.Minute)
			p.Status.StartTime = &start
		}, 50 * time.Minute, true},
		"bound and changed in some other way since": {func(p *corev1.Pod) {
			scheduled(p)
			p.Annotations = map[string]string{"a": "b"}
		}, time.Hour, true},
		"ended": {func(p *corev1.Pod) {
			scheduled(p)
			p.Status.Phase = corev1.PodSucceeded
			p.Status.ContainerStatuses = []corev1.ContainerStatus{
				{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: before(20 * time.Minute)}}},
				{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: before(30 * time.Minute)}}},
			}
		}, 20 * time.Minute, true},
		"told to end, with a grace period": {func(p *corev1.Pod) {
			scheduled(p)
			at, grace := before(time.Minute), int64(120)
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &grace
		}, 3 * time.Minute, true},
		"told to end, in the future": {func(p *corev1.Pod) {
			at := before(-time.Minute)
			p.DeletionTimestamp = &at
		}, 0, true},
		"without a node": {func(p *corev1.Pod) { p.Spec.NodeName = "" }, 0, false},
		"of a DaemonSet": {func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet"}}
		}, 0, false},
		"of the kubelet": {func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node"}}
		}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := podOn("a", "web")
			tc.change(p)
			e, counts := lastEvent(p, looptest.Noon)
			if counts != tc.counts || counts && e.At != looptest.Noon.Add(-tc.ago).Unix() {
				t.Errorf("counts %t, %v ago; want %t, %v", counts, looptest.Noon.Sub(time.Unix(e.At, 0)), tc.counts, tc.ago)
			}
		})
	}
}

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
		if _, err := events.Reconcile(ctx, podEvent{Node: "a", At: looptest.Noon.Add(-step.ago).Unix()}); err != nil {
			t.Fatal(err)
		}
		r.Get(claim)
		if got := looptest.Noon.Sub(claim.Status.LastPodEventTime.Time); got != step.want {
			t.Errorf("after an event %v ago the last is %v ago, want %v", step.ago, got, step.want)
		}
	}
	if want := 3; r.API.Writes != want {
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
		e, _ := lastEvent(p, r.Clock.Now())
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
		e, _ := lastEvent(p, looptest.Noon)
		if _, err := (&PodEvents{r.Deps}).Reconcile(ctx, e); err != nil {
			t.Fatal(err)
		}
		r.Get(claim)
		if counted := !claim.Status.LastPodEventTime.IsZero(); counted == ignored {
			t.Errorf("ignored by policy %t, counted %t", ignored, counted)
		}
	}
}
