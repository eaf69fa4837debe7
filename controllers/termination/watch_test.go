package termination

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/controllers/loop/looptest"
)

func TestADrainLooksAgainWhenSomethingItMayWaitForChanges(t *testing.T) {
	node := func(name string, finalizers ...string) client.Object {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}
	}
	r := looptest.New(t, node("going", "karpenter.sh/termination"), node("gone-too", "karpenter.sh/termination"), node("stays", "karpenter.sh/termination"), node("foreign", "example.com/x"))
	for _, name := range []string{"going", "gone-too", "foreign"} {
		r.Must(r.Client.Delete(context.Background(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	pod := func(on string) client.Object { return &corev1.Pod{Spec: corev1.PodSpec{NodeName: on}} }
	for name, test := range map[string]struct {
		changed client.Object
		want    []string
	}{
		"a pod of a node that goes":         {pod("going"), []string{"going"}},
		"a pod of a node that stays":        {pod("stays"), nil},
		"a pod of somebody else's node":     {pod("foreign"), nil},
		"a pod without a node":              {pod(""), nil},
		"an attachment to a node that goes": {&storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{NodeName: "going"}}, []string{"going"}},
		"a budget":                          {&policyv1.PodDisruptionBudget{}, []string{"going", "gone-too"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := New(r.Deps).waiting(context.Background(), test.changed)
			if len(got) != len(test.want) {
				t.Fatalf("looks at %v, want %v", got, test.want)
			}
			for i := range got {
				if got[i].Name != test.want[i] {
					t.Errorf("looks at %v, want %v", got, test.want)
				}
			}
		})
	}
}
