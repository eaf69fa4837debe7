package churnlog

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

func podOf(kind, owner, label, hash string, created time.Duration) *snapshot.Pod {
	yes := true
	return &snapshot.Pod{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Labels: map[string]string{label: hash}, CreationTimestamp: metav1.NewTime(noon.Add(created)),
		OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: &yes}},
	}}}
}

func TestARolloutIsARevisionBesideAnOlderOne(t *testing.T) {
	const label, argo = "pod-template-hash", "rollouts-pod-template-hash"
	for name, tc := range map[string]struct {
		running []*snapshot.Pod
		planned []*snapshot.Pod
		want    bool
	}{
		"a Deployment": {
			[]*snapshot.Pod{podOf("ReplicaSet", "web-1", label, "1", 0)},
			[]*snapshot.Pod{podOf("ReplicaSet", "web-2", label, "2", time.Hour)}, true,
		},
		"an Argo Rollout": {
			[]*snapshot.Pod{podOf("ReplicaSet", "web-1", argo, "1", 0)},
			[]*snapshot.Pod{podOf("ReplicaSet", "web-2", argo, "2", time.Hour)}, true,
		},
		"more replicas of the same revision": {
			[]*snapshot.Pod{podOf("ReplicaSet", "web-1", label, "1", 0)},
			[]*snapshot.Pod{podOf("ReplicaSet", "web-1", label, "1", time.Hour)}, false,
		},
		"a new Deployment": {nil, []*snapshot.Pod{podOf("ReplicaSet", "web-2", label, "2", time.Hour)}, false},
		"ReplicaSets whose names only begin alike": {
			[]*snapshot.Pod{podOf("ReplicaSet", "web-1", "app", "web", 0)},
			[]*snapshot.Pod{podOf("ReplicaSet", "web-2", "app", "web", time.Hour)}, false,
		},
		"Jobs of a CronJob": {
			[]*snapshot.Pod{podOf("Job", "web-1", label, "1", 0)},
			[]*snapshot.Pod{podOf("Job", "web-2", label, "2", time.Hour)}, false,
		},
		"one pod of three": {
			[]*snapshot.Pod{podOf("ReplicaSet", "web-1", label, "1", 0)},
			[]*snapshot.Pod{
				podOf("ReplicaSet", "web-2", label, "2", time.Hour),
				podOf("ReplicaSet", "api-1", label, "1", time.Hour), podOf("ReplicaSet", "api-1", label, "1", time.Hour),
			}, false,
		},
	} {
		s := &snapshot.Snapshot{Pending: tc.planned, Nodes: []*snapshot.Node{{Pods: tc.running}}}
		if got := Rollout(s)(tc.planned); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
