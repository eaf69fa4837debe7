package eviction

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DoNotDisruptAnnotation protects a pod: "true" without end, or a positive
// duration from the pod's start.
const DoNotDisruptAnnotation = "karpenter.sh/do-not-disrupt"

// stuckAfter is how long after the end of its grace period a terminating pod is
// no longer waited for: its kubelet is gone or a finalizer holds it.
const stuckAfter = time.Minute

// Terminal reports whether a pod has ended and only its object is left.
func Terminal(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// Terminating reports whether a pod is on its way out.
func Terminating(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }

// Stuck reports whether a terminating pod should have been gone for a minute.
func Stuck(p *corev1.Pod, now time.Time) bool {
	return Terminating(p) && !now.Before(StuckFrom(p))
}

// StuckFrom is when a terminating pod will be stuck.
func StuckFrom(p *corev1.Pod) time.Time { return p.DeletionTimestamp.Add(stuckAfter) }

// Held reports whether only finalizers keep a pod whose containers have ended, or
// should have ended a minute ago.
func Held(p *corev1.Pod, now time.Time) bool {
	return len(p.Finalizers) > 0 && Terminating(p) && (Terminal(p) || Stuck(p, now))
}

// Daemon reports whether a DaemonSet would put a pod back onto the same node.
func Daemon(p *corev1.Pod) bool { return owned(p, "apps/v1", "DaemonSet") }

// OfStatefulSet reports whether a pod is made again under its own name.
func OfStatefulSet(p *corev1.Pod) bool { return owned(p, "apps/v1", "StatefulSet") }

// OfJob reports whether a Job made a pod.
func OfJob(p *corev1.Pod) bool { return owned(p, "batch/v1", "Job") }

// Mirror reports whether a pod is the image of one that a kubelet runs by itself.
func Mirror(p *corev1.Pod) bool { return owned(p, "v1", "Node") }

func owned(p *corev1.Pod, apiVersion, kind string) bool {
	return slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.APIVersion == apiVersion && o.Kind == kind
	})
}

// Critical reports whether a pod is of one of Kubernetes' system classes, which
// leave last.
func Critical(p *corev1.Pod) bool {
	return p.Spec.PriorityClassName == "system-cluster-critical" || p.Spec.PriorityClassName == "system-node-critical"
}

// Stays reports whether a pod chose to remain on a node that is about to go: it
// tolerates the disrupted taint.
func Stays(p *corev1.Pod) bool { return Tolerates(p, DisruptedTaint) }

// Tolerates reports whether a pod tolerates a taint for as long as it is there.
func Tolerates(p *corev1.Pod, taint corev1.Taint) bool {
	return slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool { return t.TolerationSeconds == nil && tolerates(t, taint) })
}

func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Operator == corev1.TolerationOpExists {
		return t.Key == "" || t.Key == taint.Key
	}
	return (t.Operator == "" || t.Operator == corev1.TolerationOpEqual) && t.Key == taint.Key && t.Value == taint.Value
}

// Protected reports whether the do-not-disrupt annotation of a running pod holds
// now, and until when; zero if that is open. A pod that has not started keeps the
// protection; a value that is neither "true" nor a positive duration gives none.
func Protected(p *corev1.Pod, now time.Time) (until time.Time, protected bool) {
	if Terminal(p) || Terminating(p) {
		return time.Time{}, false
	}
	value := p.Annotations[DoNotDisruptAnnotation]
	if value == "true" {
		return time.Time{}, true
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return time.Time{}, false
	}
	if p.Status.StartTime == nil {
		return time.Time{}, true
	}
	until = p.Status.StartTime.Add(d)
	return until, now.Before(until)
}

// Reschedulable reports whether a pod needs another machine when its own goes
// away: it is active, or it is terminating and its StatefulSet makes it again,
// and it belongs neither to a DaemonSet nor to the kubelet.
func Reschedulable(p *corev1.Pod) bool {
	returns := !Terminal(p) && (!Terminating(p) || OfStatefulSet(p))
	return returns && !Daemon(p) && !Mirror(p)
}

// Evictable reports whether the removal of its machine would evict a pod now.
func Evictable(p *corev1.Pod, now time.Time) bool {
	_, protected := Protected(p, now)
	return !Terminal(p) && !Terminating(p) && !Mirror(p) && !protected && !Stays(p)
}
