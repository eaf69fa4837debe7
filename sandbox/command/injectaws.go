package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

// awsInjection is one call of "sandbox inject aws".
type awsInjection struct {
	target
	notice, in, hold time.Duration
	code             string
	times            int
	documented       bool
}

func newInjectAWS() *cobra.Command {
	var in awsInjection
	cmd := &cobra.Command{
		Use:   "aws",
		Short: "Script what the emulated AWS does",
		Long: `Script what the emulated AWS does, that of a cluster (sandbox up --cloud aws) or one
alone (sandbox aws up). INSTANCE is its ID or the name of its Node.

How long instances take to boot, to join and to shut down, and how long DescribeInstances
does not know them, are the knobs ec2-boot-delay, ec2-join-delay, ec2-shutdown-delay and
ec2-lag of "sandbox inject".`,
		Example: `  sandbox inject aws capacity 'm5.*/us-east-1a/spot' 0     # sold out
  sandbox inject aws capacity '*/*/spot' 0 MaxSpotInstanceCountExceeded "Max spot instance count exceeded"
  sandbox inject aws capacity '*/us-east-1a' unlimited
  sandbox inject aws throttle --documented                # the token buckets that AWS documents
  sandbox inject aws throttle CreateFleet 0.5             # calls per second
  sandbox inject aws throttle                             # none
  sandbox inject aws spot ip-10-0-0-4.ec2.internal        # a spot interruption, two minutes ahead
  sandbox inject aws rebalance i-0aa11bb22cc33dd44
  sandbox inject aws maintenance i-0aa11bb22cc33dd44 --code Stop --in 336h
  sandbox inject aws check i-0aa11bb22cc33dd44 system     # a status check fails
  sandbox inject aws fail i-0aa11bb22cc33dd44             # broken hardware: it ends at once
  sandbox inject aws fault ec2:CreateFleet InternalError --times 3
  sandbox inject aws fault ec2:CreateFleet                # carried out, and the reply is lost
  sandbox inject aws fault --clear
  sandbox inject aws reservation cr-1 m5.large us-east-1a 2 --ends 1h
  sandbox inject aws reservation cr-1 m5.large us-east-1a 0  # it has no room any more
  sandbox inject aws group near cluster                   # a placement group
  sandbox inject aws remove subnet-0000000000000000a      # what no instance is in goes, images always
  sandbox inject aws health vol-0aa11bb22cc33dd44         # EBS has trouble with a volume
  sandbox inject aws policies lifecycle.json discovery.json  # IAM allows the controller no more
  sandbox inject aws policies                             # everything again`,
	}
	cmd.AddCommand(in.capacity(), in.throttle(), in.spot(), in.rebalance(), in.maintenance(), in.check(), in.fail(), in.fault(), in.policies(),
		in.reservation(), in.group(), in.remove(), in.health())
	for _, sub := range cmd.Commands() {
		in.add(sub)
	}
	return cmd
}

// run makes a command's body of what it asks of the AWS.
func (in *awsInjection) run(do func(ctx context.Context, at aws.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		at, err := in.find(cmd.Context())
		if err != nil {
			return err
		}
		return do(cmd.Context(), at, args)
	}
}

func (in *awsInjection) capacity() *cobra.Command {
	return &cobra.Command{
		Use: "capacity TYPE[/ZONE[/CAPACITY-TYPE]] N [CODE [MESSAGE]]", Short: "How many instances each offering of a pattern holds, and what launches beyond it fail with", Args: cobra.RangeArgs(2, 4),
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) error {
			n := -1
			if args[1] != "unlimited" {
				var err error
				if n, err = strconv.Atoi(args[1]); err != nil || n < 0 {
					return fmt.Errorf("%q is neither a number of instances nor unlimited", args[1])
				}
			}
			limit := aws.Capacity{Pattern: args[0], Most: n}
			if len(args) > 2 {
				limit.Because = &wire.Error{Code: args[2], Message: strings.Join(args[3:], " ")}
			}
			return at.SetCapacity(ctx, limit)
		}),
	}
}

func (in *awsInjection) throttle() *cobra.Command {
	cmd := &cobra.Command{
		Use: "throttle [ACTION CALLS-PER-SECOND]", Short: "How frequent calls of EC2 may be; ACTION may have wildcards", Args: cobra.MaximumNArgs(2),
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) error {
			limit := aws.Throttle{Documented: in.documented}
			switch len(args) {
			case 1:
				return fmt.Errorf("%s: how many calls per second?", args[0])
			case 2:
				rate, err := strconv.ParseFloat(args[1], 64)
				if err != nil || !(rate >= 0 && rate < math.MaxInt32) {
					return fmt.Errorf("%q is not a number of calls per second", args[1])
				}
				limit.Action, limit.Limit = strings.TrimPrefix(args[0], "ec2:"), awstest.Limit{PerSecond: rate, Burst: math.Max(1, math.Ceil(rate))}
			}
			return at.SetThrottle(ctx, limit)
		}),
	}
	cmd.Flags().BoolVar(&in.documented, "documented", false, "the token buckets that AWS documents, besides")
	return cmd
}

func (in *awsInjection) spot() *cobra.Command {
	cmd := &cobra.Command{
		Use: "spot INSTANCE", Short: "Take an instance back that is spot, or in a reservation that can be interrupted", Args: cobra.ExactArgs(1),
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) error {
			i, err := at.Instance(ctx, args[0])
			if err != nil {
				return err
			}
			return at.Interrupt(ctx, aws.Interruption{Instance: i.ID, Notice: in.notice})
		}),
	}
	cmd.Flags().DurationVar(&in.notice, "notice", awstest.SpotNotice, "how long before its end it is told")
	return cmd
}

func (in *awsInjection) rebalance() *cobra.Command {
	return &cobra.Command{
		Use: "rebalance INSTANCE", Short: "Recommend to replace a spot instance", Args: cobra.ExactArgs(1),
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) error {
			i, err := at.Instance(ctx, args[0])
			if err != nil {
				return err
			}
			return at.Announce(ctx, interruption.Event{Kind: interruption.Rebalance, Machine: i.ID})
		}),
	}
}

func (in *awsInjection) maintenance() *cobra.Command {
	cmd := &cobra.Command{
		Use: "maintenance INSTANCE", Short: "Schedule maintenance: EC2 lists it, AWS Health tells of it, and it is done in time", Args: cobra.ExactArgs(1),
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) error {
			i, err := at.Instance(ctx, args[0])
			if err != nil {
				return err
			}
			return at.Maintain(ctx, aws.Maintenance{Instance: i.ID, Code: interruption.Code(in.code), In: in.in})
		}),
	}
	cmd.Flags().StringVar(&in.code, "code", string(interruption.Stop), fmt.Sprintf("what is done to the instance: %v", interruption.Codes()))
	cmd.Flags().DurationVar(&in.in, "in", 14*24*time.Hour, "from now until it begins")
	return cmd
}

func (in *awsInjection) fail() *cobra.Command {
	return &cobra.Command{
		Use: "fail INSTANCE", Short: "Break an instance's hardware: it ends at once", Args: cobra.ExactArgs(1),
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) error {
			i, err := at.Instance(ctx, args[0])
			if err != nil {
				return err
			}
			return at.Fail(ctx, i.ID)
		}),
	}
}

func (in *awsInjection) check() *cobra.Command {
	return &cobra.Command{
		Use: "check INSTANCE instance|system|ebs", Short: "Let a status check of an instance fail from now on", Args: cobra.ExactArgs(2),
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) error {
			i, err := at.Instance(ctx, args[0])
			if err != nil {
				return err
			}
			return at.FailCheck(ctx, aws.Check{Instance: i.ID, Check: args[1]})
		}),
	}
}

func (in *awsInjection) policies() *cobra.Command {
	return &cobra.Command{
		Use: "policies [FILE...]", Short: "Allow the controller, whose access key is " + aws.ControllerKey + ", what the IAM policies in files grant and no more",
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) error {
			var out aws.Policies
			for _, name := range args {
				text, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				out.Documents = append(out.Documents, string(text))
			}
			return at.SetPolicies(ctx, out)
		}),
	}
}

func (in *awsInjection) fault() *cobra.Command {
	cmd := &cobra.Command{
		Use: "fault [SERVICE:ACTION [CODE]]", Short: "Let calls fail; without a code the call is carried out and its reply is lost", Args: cobra.MaximumNArgs(2),
		RunE: in.run(func(ctx context.Context, at aws.Client, args []string) error {
			if in.clear {
				return at.ClearFaults(ctx)
			}
			if len(args) == 0 {
				return errors.New("which action, such as ec2:CreateFleet?")
			}
			f := awstest.Fault{Action: args[0], Times: in.times, Hold: in.hold}
			if len(args) == 2 {
				f.Code, f.Message = args[1], "injected by the sandbox"
			}
			return at.Inject(ctx, f)
		}),
	}
	cmd.Flags().IntVar(&in.times, "times", 1, "how many calls; 0 is all until --clear")
	cmd.Flags().DurationVar(&in.hold, "hold", 0, "keep the reply back for so long instead of losing it")
	cmd.Flags().BoolVar(&in.clear, "clear", false, "end all faults")
	return cmd
}
