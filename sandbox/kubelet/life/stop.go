package life

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// stopTime is how long the containers of a pod that is being deleted take to
// end, and their exit code. Containers stop side by side: each first runs its
// preStop hook, then gets the signal. What is not done within the grace period
// is killed.
func stopTime(pod *corev1.Pod, t Timing) (time.Duration, int32) {
	var longest time.Duration
	for _, c := range pod.Spec.Containers {
		longest = max(longest, preStop(c.Lifecycle, t)+t.Stop)
	}
	if grace := gracePeriod(pod); longest > grace {
		return grace, exitKilled
	}
	return longest, 0
}

func preStop(l *corev1.Lifecycle, t Timing) time.Duration {
	switch {
	case l == nil || l.PreStop == nil:
		return 0
	case l.PreStop.Sleep != nil:
		return time.Duration(l.PreStop.Sleep.Seconds) * time.Second
	default:
		return t.Exec
	}
}

// gracePeriod is the one of this deletion, not the one in the pod's spec.
func gracePeriod(pod *corev1.Pod) time.Duration {
	if pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
}
