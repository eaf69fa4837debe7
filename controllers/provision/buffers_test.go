package provision

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

func room(name, template string, replicas int32) *bufferv1beta1.CapacityBuffer {
	b := &bufferv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Generation: 1}}
	b.Spec.PodTemplateRef, b.Spec.Replicas = &bufferv1beta1.LocalObjectRef{Name: template}, &replicas
	return b
}

// Machines are launched for chunks alone, and once; the status tells what there is room for.
func TestBuffersGetMachinesAndTellWhatTheyHave(t *testing.T) {
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}
	template.Template.Spec = pending("x", "1").Spec
	r := rig(t, pool("web", nil), template, room("kept", "one", 2), room("lost", "gone", 2), room("none", "one", 0))
	p := provisioner(r)
	look := func(name, reason, words string) {
		t.Helper()
		var b bufferv1beta1.CapacityBuffer
		b.Namespace, b.Name = "default", name
		r.Get(&b)
		c := apimeta.FindStatusCondition(b.Status.Conditions, "Provisioning")
		if c == nil || c.Reason != reason || !strings.Contains(c.Message, words) || c.ObservedGeneration != 1 {
			t.Errorf("%s: %+v, want %s: %s", name, c, reason, words)
		}
	}
	pass := func(claims int) {
		t.Helper()
		r.Sync()
		r.Must(p.Pass(ctx))
		var list karpv1.NodeClaimList
		r.Must(r.Client.List(ctx, &list))
		if len(list.Items) != claims {
			t.Fatalf("%d claims, want %d", len(list.Items), claims)
		}
	}
	pass(1)
	look("kept", "RequiresNewCapacity", "there is room for 0 of 2 chunks; new machines are launched for 2")
	look("lost", "NotReadyForProvisioning", `PodTemplate "gone" does not exist`)
	look("none", "BufferEmpty", "no chunk is wanted")
	pass(1)
	look("kept", "FitsExistingCapacity", "there is room for all of its chunks (2)")
	writes := r.API.Writes
	pass(1)
	if r.API.Writes != writes {
		t.Errorf("%d more writes, though nothing has changed", r.API.Writes-writes)
	}
	r.Must(r.Client.Create(ctx, pending("a", "1")))
	pass(2)
	look("kept", "RequiresNewCapacity", "there is room for 1 of 2 chunks; new machines are launched for 1")
}
