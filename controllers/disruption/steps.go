package disruption

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=get;delete
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims/status,verbs=patch

// mark writes a command onto its objects, the taint first: from then on no pod
// comes to the node.
func (d *Disruptor) mark(ctx context.Context, c disruption.Command) error {
	fresh := true
	nodes := make([]*corev1.Node, len(c.Nodes))
	for i, n := range c.Nodes {
		fresh = fresh && !n.Claim.Is(snapshot.DisruptionReason)
		var err error
		if nodes[i], err = d.Writer.Node(ctx, n.Object, eviction.Mark); err != nil {
			return err
		}
	}
	err := d.note(ctx, c.Claims, c.Progress)
	if apply.Refused(err) {
		for i, n := range c.Nodes { // a taint would keep pods off and another machine would be marked in turn
			err = errors.Join(err, d.rollBack(ctx, nodes[i], n.Claim.Name, disruption.Rollback{}))
		}
	}
	if err == nil && fresh {
		d.Metrics.CommandBegun(command(c))
	}
	return err
}

// note writes how far a command has come onto its claims.
func (d *Disruptor) note(ctx context.Context, claims []string, p disruption.Progress) error {
	for _, name := range claims {
		claim, ok := d.Store.NodeClaim(name)
		if !ok {
			continue
		}
		_, err := d.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
			metav1.SetMetaDataAnnotation(&nc.ObjectMeta, disruption.CommandAnnotation, p.String())
			nc.StatusConditions(status.WithClock(d.Clock)).SetTrueWithReason(karpv1.ConditionTypeDisruptionReason, string(p.Cause), string(p.Cause))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rollBack takes the marks off. The claim's go first: as long as the taint is
// there, the next pass knows that something is left to do.
func (d *Disruptor) rollBack(ctx context.Context, node *corev1.Node, claimName string, r disruption.Rollback) error {
	if claim, ok := d.Store.NodeClaim(claimName); ok {
		_, err := d.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
			delete(nc.Annotations, disruption.CommandAnnotation)
			if r.Failures > 0 {
				metav1.SetMetaDataAnnotation(&nc.ObjectMeta, disruption.FailureAnnotation, disruption.Failure{Failures: r.Failures, At: d.Clock.Now().UTC(), Template: r.Template}.String())
			}
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

// remove deletes the claims of machines that are still what they were thought to
// be, all of them or none: without one that stays, the others are looked at anew.
func (d *Disruptor) remove(ctx context.Context, s *snapshot.Snapshot, decision *disruption.Decision, c disruption.Command) error {
	live := make([]*snapshot.Node, len(c.Nodes))
	claims := make([]*karpv1.NodeClaim, len(c.Nodes))
	for i, n := range c.Nodes {
		var err error
		if live[i], claims[i], err = d.look(ctx, n); err != nil {
			return err
		}
		if reason, stays := decision.Still(c, live[i]); stays {
			d.Store.Update(claims[i])
			d.Store.Update(live[i].Object)
			for _, p := range live[i].Pods {
				d.Store.Found(p, d.Clock.Now())
			}
			return d.callOff(ctx, c, live[i], reason)
		}
	}
	for i := range claims {
		first, err := d.Writer.Delete(ctx, claims[i])
		if err != nil {
			return err
		}
		if !first {
			continue
		}
		d.tellTerminating(live[i].Object, claims[i], c)
		log.FromContext(ctx).Info(loop.LoggedDisrupting, append(d.MachineKeys(claims[i]), "NodeClaim", klog.KObj(claims[i]), "reason", string(c.Cause), "pods", disruption.Movers(live[i]))...)
		d.Metrics.ClaimDisrupted(metrics.Disruption{
			Reason: reason(c.Cause), Pool: live[i].Claim.Pool, CapacityType: live[i].Object.Labels[karpv1.CapacityTypeLabelKey],
			ConsolidationPolicy: s.Pool(live[i].Claim.Pool).Disruption.Policy, GracePeriod: live[i].Claim.TerminationGracePeriod,
			Pods: disruption.Movers(live[i]),
		})
	}
	return nil
}

// enforce deletes the claims of machines whose last deadline has passed, and says
// until when their pods may end.
func (d *Disruptor) enforce(ctx context.Context, decision *disruption.Decision) error {
	var errs []error
	for _, o := range decision.Overdue {
		n := o.Node
		claim, ok := d.Store.NodeClaim(n.Claim.Name)
		if !ok {
			continue
		}
		claim, err := d.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
			metav1.SetMetaDataAnnotation(&nc.ObjectMeta, karpv1.NodeClaimTerminationTimestampAnnotationKey, o.Ends.UTC().Format(time.RFC3339))
		})
		first := false
		if err == nil {
			first, err = d.Writer.Delete(ctx, claim)
		}
		if first {
			log.FromContext(ctx).Info(loop.LoggedDisrupting, append(d.MachineKeys(claim), "NodeClaim", klog.KObj(claim), "reason", string(o.Cause), "pods", disruption.Movers(n), "deadline", o.Ends.UTC().Format(time.RFC3339))...)
			d.Metrics.ClaimDisrupted(metrics.Disruption{
				Reason: reason(o.Cause), Pool: n.Claim.Pool, CapacityType: n.Labels()[karpv1.CapacityTypeLabelKey], GracePeriod: n.Claim.TerminationGracePeriod,
				Pods: disruption.Movers(n),
			})
		}
		if !loop.Overtaken(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// callOff takes the marks off a machine of a command whose last look found something.
func (d *Disruptor) callOff(ctx context.Context, c disruption.Command, because *snapshot.Node, reason plan.Reason) error {
	log.FromContext(ctx).Info("removal is off", "nodeclaim", because.Claim.Name, "because", because.Name+" "+reason.Message())
	d.Metrics.CommandCalledOff(command(c))
	d.announceOff(c.Cause, because, reason)
	if because.Deleting() {
		return nil
	}
	return d.rollBack(ctx, because.Object, because.Claim.Name, disruption.Rollback{})
}

// look reads a machine from the API server.
func (d *Disruptor) look(ctx context.Context, n *snapshot.Node) (*snapshot.Node, *karpv1.NodeClaim, error) {
	node, claim := &corev1.Node{}, &karpv1.NodeClaim{}
	var list corev1.PodList
	err := errors.Join(
		d.Live.Get(ctx, types.NamespacedName{Name: n.Object.Name}, node),
		d.Live.Get(ctx, types.NamespacedName{Name: n.Claim.Name}, claim),
		d.Live.List(ctx, &list, client.MatchingFields{"spec.nodeName": n.Object.Name}),
	)
	if err == nil && (node.UID != n.Object.UID || claim.UID != n.Claim.UID) {
		err = fmt.Errorf("node %s or its claim %s is another one by now", node.Name, claim.Name)
	}
	var classes snapshot.Classes
	pods := make([]*snapshot.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = classes.Pod(&list.Items[i])
	}
	return &snapshot.Node{Name: n.Name, Object: node, Claim: cluster.Claim(claim), Pods: pods}, claim, err
}

func (d *Disruptor) tellTerminating(node *corev1.Node, claim *karpv1.NodeClaim, c disruption.Command) {
	for _, obj := range []client.Object{node, claim} {
		d.Writer.Event(apply.Event{
			Object: obj, Reason: apply.DisruptionTerminating, Dedupe: []string{string(c.Cause)},
			Message: fmt.Sprintf("Disrupting: %s", c.Cause),
		})
	}
}

// reason is a cause in the words of metrics.
func reason(c disruption.Cause) string { return strings.ToLower(string(c)) }

// command is a command in the words of metrics.
func command(c disruption.Command) metrics.Command {
	out := metrics.Command{Decision: "delete", Reason: reason(c.Cause), Pool: c.Pool}
	if c.Replaced || len(c.Launch) > 0 {
		out.Decision = "replace"
	}
	switch {
	case c.Cause == disruption.Empty:
		out.ConsolidationType = "empty"
	case c.Cause == disruption.Underutilized && len(c.Nodes) > 1:
		out.ConsolidationType = "multi"
	case c.Cause == disruption.Underutilized:
		out.ConsolidationType = "single"
	}
	return out
}
