package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

func (in *awsInjection) reservation() *cobra.Command {
	var r reserve.Reservation
	var ends time.Duration
	var block, open bool
	cmd := &cobra.Command{
		Use: "reservation ID TYPE ZONE N", Short: "Reserve capacity for N instances, or change the reservation of this ID", Args: cobra.ExactArgs(4),
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) (err error) {
			if r.Total, err = strconv.Atoi(args[3]); err != nil || r.Total < 0 {
				return fmt.Errorf("%q is not a number of instances", args[3])
			}
			if !strings.HasPrefix(args[0], "cr-") {
				return fmt.Errorf("%q is not the ID of a reservation, such as cr-1", args[0])
			}
			r.ID, r.Type, r.Zone = args[0], args[1], args[2]
			if ends != 0 {
				r.End = time.Now().Add(ends).Truncate(time.Second)
			}
			if block {
				r.ReservationType = reserve.Block
			}
			if open {
				r.InstanceMatchCriteria = "open"
			}
			return at.Reserve(ctx, r)
		}),
	}
	cmd.Flags().DurationVar(&ends, "ends", 0, "from now until it expires; 0 is never")
	cmd.Flags().BoolVar(&block, "block", false, "it is a capacity block")
	cmd.Flags().BoolVar(&r.Interruptible, "interruptible", false, "EC2 may take the capacity back, as inject aws spot does")
	cmd.Flags().BoolVar(&open, "open", false, "launches that name no reservation come into it")
	cmd.Flags().StringToStringVar(&r.Tags, "tag", nil, "its tags, KEY=VALUE")
	return cmd
}

func (in *awsInjection) group() *cobra.Command {
	var g reserve.Group
	cmd := &cobra.Command{
		Use: "group NAME " + strings.Join(reserve.Strategies(), "|"), Short: "Make a placement group", Args: cobra.ExactArgs(2),
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) error {
			g.GroupName, g.Strategy, g.GroupId = args[0], args[1], "pg-"+args[0]
			return at.AddGroup(ctx, g)
		}),
	}
	cmd.Flags().IntVar(&g.PartitionCount, "partitions", 2, "how many a group has whose strategy is "+reserve.Partition)
	return cmd
}

func (in *awsInjection) remove() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Delete a subnet, security group, placement group or capacity reservation, or deregister an image", Args: cobra.ExactArgs(1),
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) error { return at.Remove(ctx, args[0]) }),
	}
}

func (in *awsInjection) health() *cobra.Command {
	return &cobra.Command{
		Use: "health INSTANCE|VOLUME", Short: "AWS Health tells of trouble of a service with an instance, or of EBS with a volume (vol-…)", Args: cobra.ExactArgs(1),
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) error {
			if strings.HasPrefix(args[0], "vol-") {
				return at.Announce(ctx, interruption.Event{Kind: interruption.VolumeImpaired, Volume: args[0]})
			}
			i, err := at.Instance(ctx, args[0])
			if err != nil {
				return err
			}
			return at.Announce(ctx, interruption.Event{Kind: interruption.ServiceIssue, Machine: i.ID})
		}),
	}
}
