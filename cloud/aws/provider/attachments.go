package provider

import (
	"cmp"
	"context"
	"fmt"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
)

var _ cloud.AttachmentLister = (*Provider)(nil)

// Attachments lists the volumes of a machine that stay when it goes. The machine says which,
// the volumes say how they stand: busy is only theirs to say.
func (p *Provider) Attachments(ctx context.Context, providerID string) ([]cloud.Attachment, error) {
	i, err := p.found(ctx, providerID)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(i.Volumes))
	for n, v := range i.Volumes {
		ids[n] = v.Volume
	}
	states, err := p.AWS.VolumeStates(ctx, i.ID, ids)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", providerID, err)
	}
	var out []cloud.Attachment
	for _, v := range i.Volumes {
		out = append(out, cloud.Attachment{Driver: instancetype.EBSDriver, Handle: v.Volume, State: cmp.Or(states[v.Volume], v.State)})
	}
	return out, nil
}
