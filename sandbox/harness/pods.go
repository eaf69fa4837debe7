package harness

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Running reports whether a pod is ready and is not being deleted.
func Running(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// AllRunning finds fault unless pods are n and all of them are running.
func AllRunning(pods []corev1.Pod, n int) error {
	running := 0
	for i := range pods {
		if Running(&pods[i]) {
			running++
		}
	}
	if len(pods) != n || running != n {
		return fmt.Errorf("%d of %d pods are ready, want %d", running, len(pods), n)
	}
	return nil
}
