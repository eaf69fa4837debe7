package apply

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/engine/nomination"
)

// API is the part of the Kubernetes API that changes things. After Create, Patch
// and PatchStatus the object holds the server's answer.
type API interface {
	Create(ctx context.Context, obj client.Object) error
	Patch(ctx context.Context, obj client.Object, patch client.Patch) error
	PatchStatus(ctx context.Context, obj client.Object, patch client.Patch) error
	Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error
	Evict(ctx context.Context, pod *corev1.Pod, eviction *policyv1.Eviction) error
}

// ForClient is the API behind a client.
func ForClient(c client.Client) API { return direct{c} }

type direct struct{ client client.Client }

func (d direct) Create(ctx context.Context, obj client.Object) error {
	return d.client.Create(ctx, obj)
}

func (d direct) Patch(ctx context.Context, obj client.Object, patch client.Patch) error {
	return decode.Send(obj, d.client.Scheme(), func(o client.Object) error { return d.client.Patch(ctx, o, patch) })
}

func (d direct) PatchStatus(ctx context.Context, obj client.Object, patch client.Patch) error {
	return decode.Send(obj, d.client.Scheme(), func(o client.Object) error {
		return d.client.Status().Patch(ctx, o, patch, client.FieldOwner(nomination.Manager))
	})
}

func (d direct) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return d.client.Delete(ctx, obj, opts...)
}

func (d direct) Evict(ctx context.Context, pod *corev1.Pod, eviction *policyv1.Eviction) error {
	return d.client.SubResource("eviction").Create(ctx, pod, eviction)
}
