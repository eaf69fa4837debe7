package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/api/awsv1"
)

// sweepProfiles deletes the instance profiles that were made for roles, by Karpenter as well, and
// that neither a class nor a machine names any more. Where no class has a role IAM is not asked,
// and the rights for it may be missing.
func (p *Provider) sweepProfiles(ctx context.Context) error {
	var classes awsv1.EC2NodeClassList
	if err := p.Reader.List(ctx, &classes); err != nil {
		return fmt.Errorf("listing EC2NodeClasses: %w", err)
	}
	roles := slices.ContainsFunc(classes.Items, func(c awsv1.EC2NodeClass) bool { return c.Spec.Role != "" })
	now := p.Clock.Now()
	if p.Observe || p.Isolated || !roles || !p.profiles.due(now) {
		return nil
	}
	made, err := p.AWS.Profiles(ctx, fmt.Sprintf("/karpenter/%s/%s/", p.Region, p.Cluster.Name))
	if err != nil {
		return err
	}
	machines, err := p.machines.List(ctx)
	if err != nil {
		return err
	}
	for i := range classes.Items {
		p.profiles.use(classes.Items[i].Status.InstanceProfile, now)
	}
	for _, i := range machines {
		p.profiles.use(i.Profile, now)
	}
	names := make([]string, len(made))
	for i := range made {
		names[i] = made[i].Name
	}
	idle := p.profiles.idle(names, now)
	var failed []error
	for _, profile := range made {
		if slices.Contains(idle, profile.Name) {
			failed = append(failed, p.AWS.DeleteProfile(ctx, profile))
		}
	}
	return errors.Join(failed...)
}
