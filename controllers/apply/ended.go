package apply

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Ended notes on a claim, before it is deleted, that the cloud ended its machine, and why. It counts
// as a failure if the Node has not registered; else the claim is left as it is.
func (w *Writer) Ended(ctx context.Context, claim *karpv1.NodeClaim, why string) (*karpv1.NodeClaim, error) {
	if claim.DeletionTimestamp != nil || cluster.Claim(claim).Is(snapshot.Registered) {
		return claim, nil
	}
	w.Event(Event{Object: claim, Warning: true, Reason: GivenUp, Message: fmt.Sprintf("NodeClaim %s is given up: its machine ended before it joined: %s", claim.Name, why)})
	return w.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, lifecycle.GivenUpAnnotation, string(lifecycle.MachineEnded))
	})
}
