package idle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/disruption/idle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

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
		"bound and no longer ready": {func(p *corev1.Pod) {
			scheduled(p)
			p.Status.Conditions = append([]corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: before(time.Minute)},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: before(time.Minute)},
			}, p.Status.Conditions...)
		}, time.Hour, true},
		"ended": {func(p *corev1.Pod) {
			scheduled(p)
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, LastTransitionTime: before(time.Minute)})
			p.Status.Phase = corev1.PodSucceeded
			p.Status.ContainerStatuses = []corev1.ContainerStatus{
				{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: before(20 * time.Minute)}}},
				{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: before(30 * time.Minute)}}},
			}
		}, 20 * time.Minute, true},
		"ended, and its containers do not say when": {func(p *corev1.Pod) {
			scheduled(p)
			p.Status.Phase = corev1.PodFailed
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, LastTransitionTime: before(time.Minute)})
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{}}
		}, time.Minute, true},
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
			p := &corev1.Pod{}
			p.Name, p.Spec.NodeName = "web", "a"
			tc.change(p)
			e, counts := idle.Last(p, noon)
			if counts != tc.counts || counts && e.At != noon.Add(-tc.ago).Unix() {
				t.Errorf("counts %t, %v ago; want %t, %v", counts, noon.Sub(time.Unix(e.At, 0)), tc.counts, tc.ago)
			}
		})
	}
}

func TestAPodThatIsFoundDeletedLeftNowUnlessItHadBeenToldTo(t *testing.T) {
	told, grace := before(time.Minute), int64(30)
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   time.Time
	}{
		"while it ran":            {func(*corev1.Pod) {}, noon},
		"after it had ended":      {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, noon.Add(-time.Hour)},
		"after it was told to go": {func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &told, &grace }, noon.Add(-90 * time.Second)},
	} {
		p := &corev1.Pod{}
		p.Spec.NodeName, p.CreationTimestamp = "a", before(time.Hour)
		tc.change(p)
		if e, counts := idle.Gone(p, noon); !counts || e.At != tc.want.Unix() {
			t.Errorf("%s: %v, counts %t; want %v", name, time.Unix(e.At, 0).UTC(), counts, tc.want)
		}
	}
	daemon := &corev1.Pod{}
	daemon.Spec.NodeName = "a"
	daemon.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet"}}
	if _, counts := idle.Gone(daemon, noon); counts {
		t.Error("a pod of a DaemonSet counts")
	}
}

func TestEventsCountTenSecondsApartAndThoseOfJobsByPolicy(t *testing.T) {
	for _, tc := range []struct {
		after   time.Duration
		job     bool
		ignored bool
		want    bool
	}{
		{after: 10 * time.Second, want: true},
		{after: 9 * time.Second},
		{after: 0},
		{after: -time.Hour},
		{after: time.Hour, job: true, want: true},
		{after: time.Hour, job: true, ignored: true},
		{after: time.Hour, ignored: true, want: true},
	} {
		e := idle.Event{Node: "a", At: noon.Add(tc.after).Unix(), Job: tc.job}
		if got := e.Counts(noon, snapshot.DisruptionPolicy{IgnoreJobs: tc.ignored}); got != tc.want {
			t.Errorf("%v after the last, job %t, jobs ignored %t: counts %t", tc.after, tc.job, tc.ignored, got)
		}
	}
	if !(idle.Event{At: noon.Unix()}).Counts(time.Time{}, snapshot.DisruptionPolicy{}) {
		t.Error("a first event does not count")
	}
}
