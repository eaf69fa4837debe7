package provision

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/lifecycle"
)

// attempts bounds how often one creation is tried.
const attempts = 4

// createAll creates claims side by side. A claim that could not be created
// becomes nil.
func (p *Provisioner) createAll(ctx context.Context, claims []*karpv1.NodeClaim) error {
	errs, refused := make([]error, len(claims)), make([]bool, len(claims))
	loop.SideBySide(len(claims), func(i int) {
		claim := claims[i]
		if claim == nil {
			return
		}
		pool := claim.Labels[karpv1.NodePoolLabelKey]
		refused[i] = p.Store.RefusedLaunches(pool) != nil
		if claims[i], errs[i] = p.createOne(ctx, claim); errs[i] == nil {
			p.Metrics.ClaimCreated(metrics.Provisioned, pool, false)
			log.FromContext(ctx).Info(loop.LoggedCreated, append(p.MachineKeys(claim), "NodeClaim", klog.KObj(claim), "planned", claim.Annotations[lifecycle.PlannedAnnotation])...)
		}
	})
	for i := range claims {
		switch {
		case refused[i] && errs[i] == nil && claims[i] != nil:
			p.Trigger(again) // this was a trial, and others wait
		case apply.Refused(errs[i]):
			errs[i] = nil // told by the Writer, which also says when to try again
		}
	}
	return errors.Join(errs...)
}

// createOne creates a claim under a name of our own choice, so that a creation
// whose answer was lost can be tried again without making a second machine.
func (p *Provisioner) createOne(ctx context.Context, claim *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	lost := false // an earlier attempt under this name may have succeeded
	var err error
	for range attempts {
		err = p.Writer.CreateClaim(ctx, claim.DeepCopy())
		switch {
		case err == nil:
			return p.created(ctx, claim.Name)
		case apierrors.IsAlreadyExists(err) && lost:
			return p.created(ctx, claim.Name)
		case apierrors.IsAlreadyExists(err):
			p.name(claim)
		case apply.Refused(err) || ctx.Err() != nil:
			return nil, err
		default:
			lost = true
		}
	}
	return nil, err
}

// name gives a claim a name that is probably free.
func (p *Provisioner) name(claim *karpv1.NodeClaim) {
	claim.Name = claim.GenerateName + p.config.Suffix()
}

// created is a claim that exists, as the store or else the API server has it.
func (p *Provisioner) created(ctx context.Context, name string) (*karpv1.NodeClaim, error) {
	if claim, ok := p.Store.NodeClaim(name); ok {
		return claim, nil
	}
	claim := &karpv1.NodeClaim{}
	if err := p.Live.Get(ctx, types.NamespacedName{Name: name}, claim); err != nil {
		return nil, fmt.Errorf("reading NodeClaim %s, which was just created: %w", name, err)
	}
	p.Store.Update(claim)
	return claim, nil
}
