package provision

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
)

// attempts bounds how many names are tried for a claim.
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
		claims[i], errs[i] = p.createOne(ctx, claim)
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

// createOne creates a claim under a name that is free, and returns it as it is then.
func (p *Provisioner) createOne(ctx context.Context, claim *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	var err error
	for range attempts {
		created := claim.DeepCopy()
		if err = p.Writer.CreateClaim(ctx, created, p.Created(ctx, metrics.Provisioned)); err == nil {
			return created, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			break
		}
		p.name(claim)
	}
	return nil, err
}

// name gives a claim a name that is probably free.
func (p *Provisioner) name(claim *karpv1.NodeClaim) {
	claim.Name = claim.GenerateName + p.config.Suffix()
}
