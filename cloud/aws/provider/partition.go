package provider

import (
	"context"
	"errors"
	"strconv"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
)

var errPartition = errors.New("EC2 does not tell yet which partition of its placement group the machine is in")

// partition is that of a machine that was just launched, as a label has it; empty if its placement
// group has none. EC2 chooses one unless the claim does, and tells it when it shows the machine.
// A launch is not over before that: no Node joins without the label.
func (l *launch) partition(ctx context.Context, id string) (string, error) {
	if asked := l.req.Labels[ec2class.LabelPlacementGroupPartition]; asked != "" {
		return asked, nil
	}
	if g := l.resolver.Group(l.class.Name); g == nil || g.Partitions == 0 {
		return "", nil
	}
	i, err := l.machines.Get(ctx, id)
	if err == nil && i.Partition == 0 {
		err = &cloud.ThrottledError{RetryAfter: lookAgain, Err: errPartition}
	}
	return strconv.Itoa(int(i.Partition)), err
}
