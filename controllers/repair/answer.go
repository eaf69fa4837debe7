package repair

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/repair"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=patch;delete
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims/status,verbs=patch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools,verbs=list
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools/status,verbs=patch

// carryOut does one command.
func (w *Watcher) carryOut(ctx context.Context, s *snapshot.Snapshot, c repair.Command) error {
	claim, ok := w.Store.NodeClaim(c.Node.Claim.Name)
	if !ok {
		return nil
	}
	switch c.Do {
	case repair.Ask:
		request := disruption.Request{Cause: disruption.Unhealthy, At: s.Now.UTC(), Why: c.Finding.What}
		return w.annotate(ctx, claim, disruption.RequestAnnotation, request.String())
	case repair.Withdraw:
		return w.annotate(ctx, claim, disruption.RequestAnnotation, "")
	case repair.Reboot:
		return w.request(ctx, c, claim)
	case repair.Bound:
		err := w.annotate(ctx, claim, repair.TerminationAnnotation, c.Deadline.UTC().Format(time.RFC3339))
		if err == nil {
			w.Metrics.UnhealthyDisrupted(unwell(c), capacity(c.Node), c.Node.Claim.Image)
		}
		return err
	}
	return w.terminate(ctx, s, c, claim)
}

// annotate sets an annotation of a claim; an empty value takes it off.
func (w *Watcher) annotate(ctx context.Context, claim *karpv1.NodeClaim, key, value string) error {
	_, err := w.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) { set(nc, key, value) })
	return err
}

func set(nc *karpv1.NodeClaim, key, value string) {
	if value == "" {
		delete(nc.Annotations, key)
		return
	}
	metav1.SetMetaDataAnnotation(&nc.ObjectMeta, key, value)
}

// terminate deletes the claim of a machine that is still broken when its Node is
// read from the API server.
func (w *Watcher) terminate(ctx context.Context, s *snapshot.Snapshot, c repair.Command, claim *karpv1.NodeClaim) error {
	node := &corev1.Node{}
	if err := w.Live.Get(ctx, types.NamespacedName{Name: c.Node.Object.Name}, node); err != nil {
		return err
	}
	if !repair.Still(s, c, node, w.options) {
		w.Store.Update(node)
		return nil
	}
	if at, err := time.Parse(time.RFC3339, claim.Annotations[repair.TerminationAnnotation]); err != nil || c.Deadline.Before(at) {
		claim, err = w.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
			set(nc, repair.TerminationAnnotation, c.Deadline.UTC().Format(time.RFC3339))
		})
		if err != nil {
			return err
		}
	}
	first, err := w.Writer.Delete(ctx, claim)
	if err != nil || !first {
		return err
	}
	log.FromContext(ctx).Info("machine goes because it is broken", "nodeclaim", claim.Name, "node", node.Name, "because", c.Finding.What)
	w.Metrics.ClaimDisrupted(metrics.Disruption{
		Reason: metrics.Unhealthy, Pool: c.Node.Claim.Pool, CapacityType: capacity(c.Node),
		GracePeriod: c.Node.Claim.TerminationGracePeriod, Pods: disruption.Movers(c.Node),
	})
	w.Metrics.UnhealthyDisrupted(unwell(c), capacity(c.Node), c.Node.Claim.Image)
	return nil
}

func unwell(c repair.Command) metrics.Unwell {
	return metrics.Unwell{Pool: c.Node.Claim.Pool, Condition: c.Finding.Name}
}

func capacity(n *snapshot.Node) string { return n.Labels()[karpv1.CapacityTypeLabelKey] }
