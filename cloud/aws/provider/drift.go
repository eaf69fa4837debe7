package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/cloud/aws/drift"
	"github.com/millwright-dev/millwright/cloud/aws/image"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var _ cloud.Drifter = (*Provider)(nil)

// relistAfter is how old the memory of the machines may become. The garbage collection of a
// process that leads lists them more often.
const relistAfter = 5 * time.Minute

var errNotSeen = errors.New("EC2 has not described the machine yet")

// Drifted says why a machine is not what its class asks for any more. It goes by what EC2 said
// of the machine last, or by what was launched; only what would be a machine that has left its
// capacity reservation is asked for again, because EC2 moves such machines itself.
func (p *Provider) Drifted(ctx context.Context, providerID string) (string, error) {
	id, err := idOf(providerID)
	if err != nil {
		return "", err
	}
	i, ok := p.machines.Known(id)
	if !ok {
		return "", fmt.Errorf("%s: %w", providerID, errNotSeen)
	}
	reason, err := p.drifted(ctx, providerID, &i)
	if err != nil || reason != drift.CapacityReservation {
		return reason, err
	}
	if i, err = p.machines.Get(ctx, id); err != nil {
		return "", err
	}
	return p.drifted(ctx, providerID, &i)
}

func (p *Provider) drifted(ctx context.Context, providerID string, i *api.Instance) (string, error) {
	ref := snapshot.ClassRef{Group: Group, Kind: Kind, Name: i.Tags[ec2class.NodeClassTagKey]}
	class, err := p.read(ctx, ref)
	if err != nil {
		return "", err
	}
	if class.DeletionTimestamp != nil {
		return "", notReady(ref, "it is being deleted")
	}
	if class.Spec.PlacementGroupSelector != nil && p.group(class) == "" {
		return "", notYet(ref, "its placement group is not known yet")
	}
	claim, err := p.claimOf(ctx, providerID, i)
	if err != nil {
		return "", err
	}
	return drift.Find(drift.View{Class: class, Claim: claim, Machine: i, Image: p.imageFor(class, i), Group: p.group(class)}), nil
}

// claimOf are the annotations of a machine's NodeClaim, nil if it has none that says so.
func (p *Provider) claimOf(ctx context.Context, providerID string, i *api.Instance) (map[string]string, error) {
	name := i.Tags[ec2class.NodeClaimTagKey]
	if name == "" {
		return nil, nil
	}
	var claim karpv1.NodeClaim
	err := p.Reader.Get(ctx, client.ObjectKey{Name: name}, &claim)
	if apierrors.IsNotFound(err) || err == nil && claim.Status.ProviderID != providerID {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading NodeClaim %s: %w", name, err)
	}
	return claim.Annotations, nil
}

// imageFor is what a machine like this would be started from now; empty if that is not known.
func (p *Provider) imageFor(class *awsv1.EC2NodeClass, i *api.Instance) string {
	info, known := p.market.info(i.Type)
	settings := p.settings(class)
	if !known || settings.Check([]instancetype.Info{info}) != nil {
		return ""
	}
	return image.For(class.Status.AMIs, instancetype.Describe(&info, settings, offering(i, capacityType(i))).Requirements)
}

// relist reads the cluster's machines if nothing else has for a while.
func (p *Provider) relist(ctx context.Context) error {
	if p.Clock.Since(p.machines.ListedAt()) < relistAfter {
		return nil
	}
	_, err := p.machines.List(ctx)
	return err
}
