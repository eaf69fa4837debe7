package drain

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// OutOfService tells Kubernetes that a node's machine runs no more: volumes are
// detached without waiting for the kubelet, and pods that are ending are removed.
// It would corrupt volumes on a machine that still runs.
var OutOfService = corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}

// release is for a machine that is stopped or gone: what Kubernetes still ties to
// it is let go before its Node is. The phase is Release until that is over, then
// Finish, or Terminate for a machine that is only stopped.
func release(v View) Step {
	s := Step{Phase: Finish}
	if v.Machine != Gone {
		s.Phase, s.Wake = Terminate, v.Now.Add(terminatePoll)
	}
	if v.Policy.NoOutOfService {
		return s
	}
	s.Pods, s.Volumes = tied(v)
	waits := func(x Verdict) bool { return x.Waits }
	if !slices.ContainsFunc(s.Pods, waits) && !slices.ContainsFunc(s.Volumes, waits) {
		return s
	}
	until := v.Now.Add(v.Policy.ReleaseTimeout)
	if since := markedSince(v.Node.Object); !since.IsZero() {
		until = since.Add(v.Policy.ReleaseTimeout)
	}
	c := plan.Condition{
		Type: snapshot.VolumesDetached, Status: corev1.ConditionUnknown, Reason: "AwaitingVolumeDetachment",
		Message: "the machine is gone; waiting: " + story(append(slices.Clone(s.Volumes), s.Pods...)),
	}
	if v.Now.Before(until) {
		s.Phase, s.Wake = Release, v.Now.Add(recheck)
		s.by(until)
		s.Conditions = []plan.Condition{c}
		return s
	}
	for i := range s.Pods {
		s.Pods[i].Waits = false
	}
	for i := range s.Volumes {
		s.Volumes[i].Waits = false
	}
	s.LeftBehind = s.Volumes
	if len(s.LeftBehind) > 0 {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "NotReleased", "left behind: "+story(s.LeftBehind)
		s.Conditions = []plan.Condition{c}
	}
	return s
}

// tied are the pods and attachments that keep something from starting elsewhere.
// Pods that tolerate the taint are not removed by it, and neither are their
// volumes: Kubernetes does both once the Node is gone, the latter six minutes later.
// If they were deleted before, kube-scheduler could put the next ones onto the dead
// Node, whose taints keep nothing from it that tolerates them all. After the deadline a volume
// that is being detached already is left to its driver, which needs no Node.
func tied(v View) (pods, volumes []Verdict) {
	var gone []corev1.UniqueVolumeName
	x := newStorage(v, nil)
	for _, m := range newRoster(v) {
		switch p := m.pod; {
		case eviction.Terminal(p) || eviction.Mirror(p):
		case eviction.Tolerates(p, OutOfService):
			for i := range p.Spec.Volumes {
				gone = append(gone, x.nameOf(p, &p.Spec.Volumes[i]))
			}
		case !eviction.Daemon(p):
			pods = append(pods, Verdict{plan.Reason{Code: plan.PodLost, Objects: []plan.ObjectRef{plan.PodRef(p)}}, true})
		}
	}
	for _, a := range v.Attachments {
		r := plan.Reason{Code: plan.VolumeReleasing, Objects: x.objects(a), Since: a.CreationTimestamp.Time}
		if slices.Contains(gone, x.attached(a)) {
			r.Code, r.Have = plan.VolumeIgnored, "its pod tolerates the taint "+OutOfService.Key
		}
		if a.DeletionTimestamp != nil && v.late() {
			r.Code, r.Have = plan.VolumeIgnored, "it is being detached"
		}
		volumes = append(volumes, Verdict{r, r.Code == plan.VolumeReleasing})
	}
	return pods, volumes
}

// MarkOutOfService puts the taint onto a copy of the Node.
func MarkOutOfService(node *corev1.Node, now time.Time) {
	if !markedSince(node).IsZero() {
		return
	}
	taint := OutOfService
	taint.TimeAdded = &metav1.Time{Time: now}
	node.Spec.Taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return t.Key == taint.Key })
	node.Spec.Taints = append(node.Spec.Taints, taint)
}

// MarkedOutOfService reports whether a Node has the taint.
func MarkedOutOfService(node *corev1.Node) bool { return !markedSince(node).IsZero() }

// markedSince is when the taint was put onto a Node, zero if it was not.
func markedSince(node *corev1.Node) time.Time {
	for _, t := range node.Spec.Taints {
		if t.Key == OutOfService.Key && t.Effect == OutOfService.Effect && t.TimeAdded != nil {
			return t.TimeAdded.Time
		}
	}
	return time.Time{}
}
