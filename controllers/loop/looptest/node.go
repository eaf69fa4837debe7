package looptest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// NewClaim is a claim of a pool, made now, that any machine of the class
// satisfies.
func (r *Rig) NewClaim(name string) *karpv1.NodeClaim {
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(r.Clock.Now()),
			Labels: map[string]string{karpv1.NodePoolLabelKey: "default"},
		},
		Spec: karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: Class.Group, Kind: Class.Kind, Name: Class.Name}},
	}
}

// Join makes the Node of a machine, as its kubelet would: with the labels and
// taints of the launch, Ready.
func (r *Rig) Join(m *Machine, name string) *corev1.Node {
	r.t.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{}, CreationTimestamp: metav1.NewTime(r.Clock.Now())},
		Spec:       corev1.NodeSpec{ProviderID: m.ProviderID, Taints: m.Request.Taints},
		Status: corev1.NodeStatus{
			Capacity: m.Capacity, Allocatable: m.Allocatable,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(r.Clock.Now())}},
		},
	}
	for k, v := range m.Labels {
		node.Labels[k] = v
	}
	for k, v := range m.Request.Labels {
		node.Labels[k] = v
	}
	r.Must(r.Client.Create(context.Background(), node))
	return node
}
