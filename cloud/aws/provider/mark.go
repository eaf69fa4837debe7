package provider

import (
	"context"
	"fmt"
	"maps"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
)

var _ cloud.Marker = (*Provider)(nil)

// Mark adds the tags that Karpenter adds once the Node of a machine has registered. One that
// the machine has keeps its value.
func (p *Provider) Mark(ctx context.Context, providerID, claim, node string) (map[string]string, error) {
	id, err := idOf(providerID)
	if err != nil {
		return nil, err
	}
	machine, ok := p.machines.Known(id)
	if !ok {
		return nil, fmt.Errorf("%s: %w", providerID, cloud.ErrNotFound)
	}
	tags := map[string]string{ec2class.NameTagKey: node, ec2class.NodeClaimTagKey: claim, ec2class.EKSClusterNameTagKey: p.Cluster.Name}
	maps.DeleteFunc(tags, func(key, _ string) bool { return machine.Tags[key] != "" })
	if len(tags) > 0 {
		if err := p.AWS.TagInstance(ctx, id, tags); err != nil {
			return nil, fmt.Errorf("tagging %s: %w", providerID, err)
		}
	}
	return map[string]string{ec2class.AnnotationInstanceTagged: "true", ec2class.AnnotationClusterNameTaggedCompatability: "true"}, nil
}
