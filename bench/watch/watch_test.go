package watch

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestAPodsWayAndEndAreSeen(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	w, err := Start(t.Context(), client, metav1.NamespaceDefault)
	if err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	until := func(what string, is func(View) bool) {
		t.Helper()
		limited, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("not within a minute"))
		defer cancel()
		if err := Until(limited, func() bool { return is(w.Now()) }); err != nil {
			t.Fatalf("%s was not seen, %v: %+v", what, err, w.Now())
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a", OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet"}}}}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until("the pod", func(v View) bool {
		return len(v.Pods) == 1 && v.Pods[0].Daemon && v.Pods[0].Bound.IsZero() && len(v.Nodes) == 1
	})
	pod.Spec.NodeName, pod.Status.Phase = "n", corev1.PodRunning
	if _, err := pods.Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until("that it runs", func(v View) bool {
		return v.Pods[0].Node == "n" && !v.Pods[0].Running.IsZero() && !v.Pods[0].Bound.Before(v.Pods[0].Created)
	})
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"}}
	if _, err := pods.Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := pods.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until("its eviction", func(v View) bool { return len(v.Pods) == 0 && v.Evictions == 1 })
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "elsewhere"}}
	if _, err := client.CoreV1().Pods("elsewhere").Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	before := w.Now().Changed
	if err := client.CoreV1().Nodes().Delete(t.Context(), "n", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until("the end of the Node", func(v View) bool { return len(v.Nodes) == 0 && v.Changed.After(before) && len(v.Pods) == 0 })
}
