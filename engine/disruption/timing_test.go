package disruption

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestAPodIsPendingSinceNoRoomWasFoundForItAndUntilItHasANode(t *testing.T) {
	created := time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)
	tried := created.Add(time.Second)
	pod := &snapshot.Pod{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}}
	if got := pendingSince(pod); !got.Equal(created) {
		t.Errorf("a new pod is pending since %v, want %v", got, created)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(tried)}}
	if got := pendingSince(pod); !got.Equal(tried) {
		t.Errorf("a pod that was tried is pending since %v, want %v", got, tried)
	}
	pod.Spec.NodeName = "a"
	if got := pendingSince(pod); !got.IsZero() {
		t.Errorf("a pod with a node is pending since %v", got)
	}
}

func TestPodsOfJobsEndNoQuietTimeWhereThePolicyIgnoresThem(t *testing.T) {
	s := build(t, "pool p policy=WhenEmptyOrUnderutilized after=10m\nnode a pool=p\npod x/a on=a of=Job started=1m")
	if quiet, at := Consolidatable(s, s.Nodes[0]); quiet || !at.Equal(noon.Add(9*time.Minute)) {
		t.Errorf("quiet %v, until %v", quiet, at)
	}
	s.Pools[0].Policy.Disruption.IgnoreJobs = true
	if quiet, _ := Consolidatable(s, s.Nodes[0]); !quiet {
		t.Error("a Job's pod keeps the machine")
	}
}
