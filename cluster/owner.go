package cluster

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// creating is for how long after a controller's newest pod it counts as being about to make
// the others. In a burst they are made within milliseconds of each other.
const creating = 10 * time.Second

// owners are the controllers that make pods side by side, ReplicaSets and Jobs, each with how
// many pods it wants and how many it has.
type owners struct {
	wanted, has map[types.UID]int
	// missing are the pods that are yet to be made of those that lack some.
	missing map[types.UID]int
}

func newOwners() owners {
	return owners{wanted: map[types.UID]int{}, has: map[types.UID]int{}, missing: map[types.UID]int{}}
}

// put records how many pods a controller wants; zero forgets it.
func (o *owners) put(uid types.UID, n int) {
	set(o.wanted, uid, n)
	set(o.missing, uid, max(0, o.wanted[uid]-o.has[uid]))
}

// count adds a pod to its controller's, or takes it off. One that ends is made again.
func (o *owners) count(p *snapshot.Pod, n int) {
	if owner := metav1.GetControllerOf(p.Pod); owner != nil && p.Active() {
		uid := owner.UID
		set(o.has, uid, o.has[uid]+n)
		set(o.missing, uid, max(0, o.wanted[uid]-o.has[uid]))
	}
}

func set(m map[types.UID]int, uid types.UID, n int) {
	if n == 0 {
		delete(m, uid)
		return
	}
	m[uid] = n
}

// expected are the pods that controllers of pending pods are about to make, each after the
// newest pending one of its controller, in the order of those.
func (o *owners) expected(pending []*snapshot.Pod, now time.Time) []snapshot.Expected {
	if len(o.missing) == 0 {
		return nil
	}
	newest := map[types.UID]*snapshot.Pod{}
	for _, p := range pending {
		owner := metav1.GetControllerOf(p.Pod)
		if owner == nil || o.missing[owner.UID] == 0 {
			continue
		}
		if best := newest[owner.UID]; best == nil || best.CreationTimestamp.Before(&p.CreationTimestamp) {
			newest[owner.UID] = p
		}
	}
	var out []snapshot.Expected
	for uid, p := range newest {
		if now.Before(p.CreationTimestamp.Add(creating)) {
			out = append(out, snapshot.Expected{Like: p, Count: o.missing[uid]})
		}
	}
	slices.SortFunc(out, func(a, b snapshot.Expected) int { return snapshot.ComparePods(a.Like, b.Like) })
	return out
}

// wantedByReplicaSet is how many pods a ReplicaSet goes on to make: none that the API server
// refuses.
func wantedByReplicaSet(rs *appsv1.ReplicaSet) int {
	fails := slices.ContainsFunc(rs.Status.Conditions, func(c appsv1.ReplicaSetCondition) bool {
		return c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue
	})
	switch {
	case rs.DeletionTimestamp != nil || fails:
		return 0
	case rs.Spec.Replicas == nil:
		return 1
	}
	return int(*rs.Spec.Replicas)
}

// WantedByJob is how many pods a Job will still run at the same time: none once it has succeeded
// or failed or is about to, nor after the first success of one without completions, as the Job
// controller then creates no more.
func WantedByJob(j *batchv1.Job) int {
	decided := slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type != batchv1.JobSuspended && c.Status == corev1.ConditionTrue
	})
	if j.DeletionTimestamp != nil || decided || ptr.Deref(j.Spec.Suspend, false) || j.Spec.Completions == nil && j.Status.Succeeded > 0 {
		return 0
	}
	wanted := ptr.Deref(j.Spec.Parallelism, 1)
	if j.Spec.Completions != nil {
		wanted = min(wanted, *j.Spec.Completions-j.Status.Succeeded)
	}
	return int(max(0, wanted))
}
