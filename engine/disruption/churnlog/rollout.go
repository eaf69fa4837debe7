package churnlog

import (
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// RolloutAnnotation is on the claims of machines that were launched for the surge of rolling
// updates: it ends with these, and is no load that comes back.
const RolloutAnnotation = "millwright.dev/rollout"

// hashes are the labels by which Deployments and Argo Rollouts name the ReplicaSets of their
// revisions: the workload's name and the label's value.
var hashes = []string{appsv1.DefaultDeploymentUniqueLabelKey, "rollouts-pod-template-hash"}

// Rollout reports whether at least half of some pods take the place of those of an older revision
// of their workload, of which there still are some.
func Rollout(s *snapshot.Snapshot) func([]*snapshot.Pod) bool {
	oldest := sync.OnceValue(func() map[string]revision { return oldestRevisions(s) })
	return func(pods []*snapshot.Pod) bool {
		surge := 0
		for _, p := range pods {
			if w, r := revisionOf(p); w != "" && r.name != oldest()[w].name {
				surge++
			}
		}
		return surge > 0 && 2*surge >= len(pods)
	}
}

// oldestRevisions are those of all workloads of which there are pods.
func oldestRevisions(s *snapshot.Snapshot) map[string]revision {
	out := map[string]revision{}
	note := func(pods []*snapshot.Pod) {
		for _, p := range pods {
			if w, r := revisionOf(p); w != "" && (out[w].name == "" || r.created.Before(out[w].created)) {
				out[w] = r
			}
		}
	}
	note(s.Pending)
	for _, n := range s.Nodes {
		note(n.Pods)
	}
	return out
}

// revision is a ReplicaSet, with the time of one of its pods.
type revision struct {
	name    string
	created time.Time
}

// revisionOf is a pod's workload and its revision, empty if it has none.
func revisionOf(p *snapshot.Pod) (workload string, r revision) {
	owner := metav1.GetControllerOf(p.Pod)
	if owner == nil || owner.Kind != "ReplicaSet" {
		return "", revision{}
	}
	for _, key := range hashes {
		if name, ok := strings.CutSuffix(owner.Name, "-"+p.Labels[key]); ok && p.Labels[key] != "" {
			return p.Namespace + "/" + name, revision{owner.Name, p.CreationTimestamp.Time}
		}
	}
	return "", revision{}
}
