package disruption

import (
	"context"
	"errors"
	"fmt"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=get;delete
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims/status,verbs=patch

// mark writes a command onto its objects, the taint first: from then on no pod
// comes to the node.
func (d *Disruptor) mark(ctx context.Context, c disruption.Command) error {
	if _, err := d.Writer.Node(ctx, c.Node.Object, eviction.Mark); err != nil {
		return err
	}
	claim, ok := d.Store.NodeClaim(c.Node.Claim.Name)
	if !ok {
		return nil
	}
	_, err := d.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
		nc.StatusConditions(status.WithClock(d.Clock)).SetTrueWithReason(karpv1.ConditionTypeDisruptionReason, string(c.Cause), string(c.Cause))
	})
	if err == nil && !c.Node.Claim.Is(snapshot.DisruptionReason) {
		d.Metrics.CommandBegun(command(c))
	}
	return err
}

// rollBack takes the marks off. The claim's goes first: as long as the taint is
// there, the next pass knows that something is left to do.
func (d *Disruptor) rollBack(ctx context.Context, node *corev1.Node, claimName string) error {
	if claim, ok := d.Store.NodeClaim(claimName); ok && claim.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason) != nil {
		_, err := d.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
			// The condition is no dependent of Ready, so that clearing it cannot fail.
			_ = nc.StatusConditions(status.WithClock(d.Clock)).Clear(karpv1.ConditionTypeDisruptionReason)
		})
		if err != nil {
			return err
		}
	}
	if node == nil || !eviction.Marked(node) {
		return nil
	}
	_, err := d.Writer.Node(ctx, node, eviction.Unmark)
	return err
}

// remove deletes the claim of a machine that is still what it was thought to be.
func (d *Disruptor) remove(ctx context.Context, s *snapshot.Snapshot, decision *disruption.Decision, c disruption.Command) error {
	node, claim, pods, err := d.look(ctx, c)
	if err != nil {
		return err
	}
	live := &snapshot.Node{Name: c.Node.Name, Object: node, Claim: cluster.Claim(claim), Pods: pods}
	if reason, stays := decision.Still(live); stays {
		log.FromContext(ctx).Info("removal is off", "nodeclaim", claim.Name, "because", reason.Message())
		d.Metrics.CommandCalledOff(command(c))
		d.Store.Update(claim)
		d.Store.Update(node)
		if live.Deleting() {
			return nil
		}
		return d.rollBack(ctx, node, claim.Name)
	}
	first, err := d.Writer.Delete(ctx, claim)
	if err != nil || !first {
		return err
	}
	d.tellTerminating(node, claim, c)
	d.Metrics.ClaimDisrupted(metrics.Disruption{
		Reason: metrics.Empty, Pool: c.Pool, CapacityType: node.Labels[karpv1.CapacityTypeLabelKey],
		ConsolidationPolicy: s.Pool(c.Pool).Disruption.Policy, GracePeriod: live.Claim.TerminationGracePeriod,
	})
	return nil
}

// look reads a machine from the API server.
func (d *Disruptor) look(ctx context.Context, c disruption.Command) (*corev1.Node, *karpv1.NodeClaim, []*snapshot.Pod, error) {
	node, claim := &corev1.Node{}, &karpv1.NodeClaim{}
	var list corev1.PodList
	err := errors.Join(
		d.Live.Get(ctx, types.NamespacedName{Name: c.Node.Object.Name}, node),
		d.Live.Get(ctx, types.NamespacedName{Name: c.Node.Claim.Name}, claim),
		d.Live.List(ctx, &list, client.MatchingFields{"spec.nodeName": c.Node.Object.Name}),
	)
	if err == nil && (node.UID != c.Node.Object.UID || claim.UID != c.Node.Claim.UID) {
		err = fmt.Errorf("node %s or its claim %s is another one by now", node.Name, claim.Name)
	}
	var classes snapshot.Classes
	pods := make([]*snapshot.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = classes.Pod(&list.Items[i])
	}
	return node, claim, pods, err
}

func (d *Disruptor) tellTerminating(node *corev1.Node, claim *karpv1.NodeClaim, c disruption.Command) {
	for _, obj := range []client.Object{node, claim} {
		d.Writer.Event(apply.Event{
			Object: obj, Reason: apply.DisruptionTerminating, Dedupe: []string{string(c.Cause)},
			Message: fmt.Sprintf("Disrupting: %s", c.Cause),
		})
	}
}

func command(c disruption.Command) metrics.Command {
	return metrics.Command{Decision: "delete", Reason: metrics.Empty, ConsolidationType: "empty", Pool: c.Pool}
}
