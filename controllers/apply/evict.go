package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// BlockedError says that a disruption budget does not let a pod go at present.
type BlockedError struct {
	// Misconfigured is true if waiting cannot help: several budgets cover the pod.
	Misconfigured bool
	// Message is the API server's.
	Message string
}

func (e *BlockedError) Error() string { return "eviction is blocked: " + e.Message }

// Evict asks the API server to evict exactly this pod. It reports whether the
// pod was evicted by this call; a pod that is gone already is no error.
//
// Errors: *BlockedError.
func (w *Writer) Evict(ctx context.Context, pod *corev1.Pod) (bool, error) {
	return w.EvictWithin(ctx, pod, 0)
}

// EvictWithin is Evict with another grace period than the pod's own; zero is its own.
func (w *Writer) EvictWithin(ctx context.Context, pod *corev1.Pod, grace time.Duration) (bool, error) {
	uid := pod.UID
	options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if grace > 0 {
		seconds := max(1, int64(grace/time.Second))
		options.GracePeriodSeconds = &seconds
	}
	err := w.api.Evict(ctx, pod, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: options,
	})
	switch {
	case err == nil:
		return true, nil
	case gone(err):
		return false, nil
	case apierrors.IsTooManyRequests(err):
		return false, &BlockedError{Message: err.Error()}
	case apierrors.IsInternalError(err) && strings.Contains(err.Error(), "more than one PodDisruptionBudget"):
		return false, &BlockedError{Misconfigured: true, Message: err.Error()}
	}
	return false, fmt.Errorf("evicting %s/%s: %w", pod.Namespace, pod.Name, err)
}

// DeletePod deletes exactly this pod without asking its disruption budgets, with
// a grace period of at least one second. It is for deadlines only. The pod says before that
// it did not fail by itself, as one that is evicted does: the podFailurePolicy of its Job may ask.
func (w *Writer) DeletePod(ctx context.Context, pod *corev1.Pod, grace time.Duration) (bool, error) {
	err := w.disrupt(ctx, pod)
	switch {
	case gone(err):
		return false, nil
	case err != nil && !Refused(err):
		return false, fmt.Errorf("telling of pod %s/%s that it is disrupted: %w", pod.Namespace, pod.Name, err)
	}
	seconds := max(1, int64(grace/time.Second))
	err = w.api.Delete(ctx, pod, preconditions(pod), client.GracePeriodSeconds(seconds))
	switch {
	case err == nil:
		return true, nil
	case gone(err):
		return false, nil
	}
	return false, fmt.Errorf("deleting pod %s/%s: %w", pod.Namespace, pod.Name, err)
}

// disrupt sets the condition DisruptionTarget of exactly this pod, if it has none.
func (w *Writer) disrupt(ctx context.Context, pod *corev1.Pod) error {
	condition := corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.recent.clock.Now()),
		Reason: "DeletionAtDeadline", Message: "the pod had to leave its node by a deadline, whatever its disruption budgets say",
	}
	if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type && c.Status == condition.Status }) {
		return nil
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID}, "status": map[string]any{"conditions": []corev1.PodCondition{condition}},
	})
	if err != nil {
		return err
	}
	return w.api.PatchStatus(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, body))
}
