package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	k8sresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// In the middle of a burst, and far away, an API server takes its time.
func TestAnAnswerTakesFewRoundsOfRequests(t *testing.T) {
	for args, want := range map[string]string{
		"nodepool/general":  "nodepool/general has",
		"deployment/small":  "needs a new node of nodepool/general",
		"pods -l app=small": "needs a new node of nodepool/general",
	} {
		objects := append(aWorkload(t), smallPods()...)
		synctest.Test(t, func(t *testing.T) {
			busy := interceptor.NewClient(fakeOf(t, objects...), interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					time.Sleep(time.Second)
					return c.List(ctx, list, opts...)
				},
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					time.Sleep(time.Second)
					return c.Get(ctx, key, o, opts...)
				},
			})
			began := time.Now()
			answer := askOf(t, busy, append(strings.Fields(args), "--namespace", "default")...)
			if took := time.Since(began); took > 9*time.Second || !strings.Contains(answer, want) {
				t.Errorf("why %s took %v:\n%s", args, took, answer)
			}
		})
	}
}

// smallPods are a Deployment whose pods need a machine, half of them not tried by their scheduler yet.
func smallPods() []client.Object {
	selector := map[string]string{"app": "small"}
	objects := []client.Object{&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "small"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: selector}},
	}}
	for i := range 20 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("small-%d", i), Labels: selector}}
		p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": k8sresource.MustParse("1")}}}}
		p.Status.Phase = corev1.PodPending
		if i%2 == 0 {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		}
		objects = append(objects, p)
	}
	return objects
}
