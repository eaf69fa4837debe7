package cli

import (
	"context"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/cli/switches"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws"
)

// addAnnouncements defines where announcements of AWS come from.
func addAnnouncements(f *pflag.FlagSet, into *aws.Config) {
	f.StringVar(&into.Queue, "interruption-queue", "", "name or URL of the SQS queue that EventBridge fills with what AWS announces about machines; if empty none is read")
	f.StringVar(&into.DeadLetterQueue, "interruption-dead-letter-queue", "", "name or URL of the SQS queue for messages that do not count; if empty they stay in their queue until its redrive policy or retention takes them")
	f.DurationVar(&into.MaxAge, "interruption-max-age", 15*time.Minute, "how old a message may be to count")
	f.DurationVar(&into.StatusEvery, "instance-status-interval", 0, "how often EC2 is asked for scheduled events and failed status checks; also lets it confirm messages where a policy wants that; 0 is never")
	f.StringVar(&into.Region, "aws-region", "", "region of the machines; if empty that of the queue's URL, then that of AWS's configuration")
	f.StringVar(&into.Account, "aws-account-id", "", "account of the machines; if empty that of the queue's URL")
	f.StringVar(&into.Endpoint, "aws-endpoint-url", "", "URL at which AWS is found instead of its own, for an emulator")
}

// addEC2 defines how EC2 is used as the cloud.
func addEC2(f *pflag.FlagSet, into *aws.ProviderConfig) {
	f.StringVar(&into.Cluster, "cluster-name", "", "name of the cluster, in EKS and in the tags of what is created; required with --provider aws")
	f.StringVar(&into.ClusterEndpoint, "cluster-endpoint", "", "URL of the API server as machines reach it; if empty EKS is asked")
	f.StringVar(&into.CABundle, "cluster-ca-bundle", "", "certificate authority of the API server in base64; if empty that of this process's own connection")
	switches.Add(f, &into.Isolated, "isolated-vpc", false, "do not ask for prices, nor delete instance profiles, because the VPC has no way to the Pricing API and to IAM")
	switches.Add(f, &into.EKSVersion, "eks-control-plane", false, "ask EKS for the version of the control plane, not the API server")
	switches.Add(f, &into.ZonalShift, "enable-zonal-shift", false, "launch nothing in zones that ARC shifts the cluster's traffic away from, and count them as impaired")
	switches.Add(f, &into.NoDryRun, "disable-dry-run", false, "do not ask EC2, by dry runs, whether it would allow the launches of a node class")
}

// announcements makes the sources. Machines of the simulated cloud have other names
// than EC2's.
func (o *runOptions) announcements(ctx context.Context) (cloud.Announcements, error) {
	c := o.aws
	if o.provider == "kwok" {
		c.Machine = func(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }
	}
	return aws.Announcements(ctx, c)
}
