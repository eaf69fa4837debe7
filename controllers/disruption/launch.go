package disruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/provision"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=create
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools,verbs=get

// launch asks for the replacements of a command and notes them on its claims. The
// names follow from the command, so that a repetition asks for the same
// machines.
func (d *Disruptor) launch(ctx context.Context, c disruption.Command) error {
	defer d.Writer.Launching()()
	if err := d.Writer.Settle(ctx, d.Live); err != nil {
		return err
	}
	if reason, over := d.exceeded(c); over {
		log.FromContext(ctx).Info("replacement waits", "nodeclaims", c.Claims, "because", reason.Message())
		return nil // the next decision knows what was launched meanwhile
	}
	p := c.Progress
	p.Replaced = true
	p.Replacements = slices.Clone(p.Replacements)
	for i := range c.Launch {
		np := &karpv1.NodePool{}
		if err := d.Live.Get(ctx, types.NamespacedName{Name: c.Launch[i].Pool}, np); err != nil {
			return fmt.Errorf("reading NodePool %s: %w", c.Launch[i].Pool, err)
		}
		if np.DeletionTimestamp != nil {
			return fmt.Errorf("NodePool %s is being deleted", np.Name)
		}
		claim := provision.Claim(np, &c.Launch[i])
		claim.Name, claim.GenerateName = c.ReplacementName(np.Name, i), ""
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, snapshot.ReplacesAnnotation, c.ID)
		if err := d.create(ctx, claim, c); err != nil {
			return err
		}
		p.Replacements = append(p.Replacements, claim.Name)
	}
	return d.note(ctx, c.Claims, p)
}

// exceeded looks once more whether the limits have room for the replacements that do not
// exist yet.
func (d *Disruptor) exceeded(c disruption.Command) (plan.Reason, bool) {
	var missing []plan.NewNode
	for i := range c.Launch {
		if _, there := d.Store.NodeClaim(c.ReplacementName(c.Launch[i].Pool, i)); !there {
			missing = append(missing, c.Launch[i])
		}
	}
	return limit.New(d.Snapshot()).TakeAll(missing)
}

// create creates one replacement, or finds that an earlier attempt has.
func (d *Disruptor) create(ctx context.Context, claim *karpv1.NodeClaim, c disruption.Command) error {
	created := d.Created(ctx, reason(c.Cause), "replaces", strings.Join(c.Claims, ","), "reason", string(c.Cause))
	err := d.Writer.CreateClaim(ctx, claim, func(claim *karpv1.NodeClaim) {
		created(claim)
		d.Writer.Event(apply.Event{
			Object: claim, Reason: apply.DisruptionLaunching,
			Message: fmt.Sprintf("Launching NodeClaim to replace %s: %s", c.Nodes[0].Name, c.Cause),
		})
	})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	there := &karpv1.NodeClaim{}
	if err := d.Live.Get(ctx, types.NamespacedName{Name: claim.Name}, there); err != nil {
		return err
	}
	if there.Annotations[snapshot.ReplacesAnnotation] != c.ID || there.DeletionTimestamp != nil {
		return fmt.Errorf("NodeClaim %s exists and is not the replacement", claim.Name)
	}
	d.Store.Update(there)
	return nil
}

// discard deletes the replacements of a command that is off, as long as they are not
// initialized and no pod that would have to move runs there.
func (d *Disruptor) discard(ctx context.Context, r disruption.Rollback) error {
	var errs []error
	for _, n := range r.Discard {
		claim := &karpv1.NodeClaim{}
		err := d.Live.Get(ctx, types.NamespacedName{Name: n.Claim.Name}, claim)
		used := false
		if err == nil {
			used, err = d.used(ctx, claim)
		}
		if err == nil && !used {
			d.Writer.Event(apply.Event{
				Object: claim, Warning: true, Reason: apply.DisruptionBlocked,
				Message: fmt.Sprintf("Deleted: it was to replace %s, which stays: %s", r.Node.Name, r.Reason.Message()),
			})
			_, err = d.Writer.Delete(ctx, claim)
		}
		if !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// used reports whether a replacement is initialized or has pods that would have to move.
func (d *Disruptor) used(ctx context.Context, claim *karpv1.NodeClaim) (bool, error) {
	if claim.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) || claim.Status.NodeName == "" {
		return claim.Status.NodeName != "", nil
	}
	var list corev1.PodList
	if err := d.Live.List(ctx, &list, client.MatchingFields{"spec.nodeName": claim.Status.NodeName}); err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(p corev1.Pod) bool { return eviction.Reschedulable(&p) }), nil
}
