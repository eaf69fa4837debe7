package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/sandbox"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

// awsCloud is the cloud that "up" and "demo" know besides the simulated one of cloud/kwok.
const awsCloud = "aws"

// cloudFlags are those of commands that start a cluster.
type cloudFlags struct {
	cloud string
	aws   sandbox.AWS
}

func (c *cloudFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.cloud, "cloud", "", "aws: an emulated AWS whose instances become Nodes (default: Nodes are made by others)")
	cmd.Flags().StringVar(&c.aws.Cluster, "cluster-name", aws.DefaultCluster, "with --cloud aws: the name of the EKS cluster")
	cmd.Flags().StringVar(&c.aws.Listen, "aws-listen", "127.0.0.1:0", "with --cloud aws: where AWS is served")
}

// into says in a cluster's configuration which cloud it is in.
func (c *cloudFlags) into(cfg *sandbox.Config) error {
	switch c.cloud {
	case "":
	case awsCloud:
		cfg.AWS = &c.aws
	default:
		return fmt.Errorf("--cloud: %q is not one of %s", c.cloud, awsCloud)
	}
	return nil
}

func newAWS() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "aws",
		Short: "An emulated AWS without a cluster, and a look into one",
	}
	cmd.AddCommand(newAWSUp(), newAWSInstances(), newAWSMetadata(), newAWSCalls())
	return cmd
}

func newAWSUp() *cobra.Command {
	var c aws.ServerConfig
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Serve an emulated AWS until interrupted",
		Long: `Serve an emulated AWS until interrupted: EC2, EBS, SSM, IAM, STS, EKS, the price
list, SQS and ARC, at one address. The printed variables let any client of AWS's SDKs
find it, and millwright run. Its instances run without anything on them; with
"sandbox up --cloud aws" they boot and join a cluster.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			server, err := aws.Serve(c)
			if err != nil {
				return err
			}
			export(cmd.OutOrStdout(), server)
			server.Follow(ctx, func(i aws.Change) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s %s %s\n", i.ID, i.Type.Name, i.State)
			})
			return server.Stop()
		},
	}
	cmd.Flags().StringVar(&c.Listen, "listen", "127.0.0.1:4566", "address to listen on")
	cmd.Flags().StringVar(&c.Cluster, "cluster-name", aws.DefaultCluster, "the name of the EKS cluster")
	cmd.Flags().StringVar(&c.Endpoint, "cluster-endpoint", "", "what EKS says of where the API server is")
	cmd.Flags().StringVar(&c.Version, "kubernetes-version", "", "the control plane's, such as 1.35")
	return cmd
}

// export prints what clients need to be told.
func export(out io.Writer, s *aws.Server) {
	for _, variable := range s.Environment() {
		fmt.Fprintln(out, "export", variable)
	}
}

// target is an AWS that another process serves.
type target struct {
	injection
	endpoint string
}

func (t *target) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.kubeconfig, "kubeconfig", "", "kubeconfig of the sandbox (default: $KUBECONFIG)")
	cmd.Flags().StringVar(&t.endpoint, "endpoint-url", os.Getenv("AWS_ENDPOINT_URL"), "where AWS is (default: $AWS_ENDPOINT_URL, else what the cluster of the kubeconfig says)")
}

// find connects to the AWS.
func (t *target) find(ctx context.Context) (aws.Client, error) {
	if t.endpoint != "" && t.kubeconfig == "" {
		return aws.Client{URL: strings.TrimRight(t.endpoint, "/")}, nil
	}
	client, err := t.client()
	if err != nil {
		return aws.Client{}, err
	}
	return aws.Find(ctx, client)
}

func newAWSMetadata() *cobra.Command {
	var t target
	var listen string
	cmd := &cobra.Command{
		Use:   "metadata INSTANCE",
		Short: "Serve what an instance reads of itself until interrupted, and print what a process on it is told",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			at, err := t.find(ctx)
			if err != nil {
				return err
			}
			i, err := at.Instance(ctx, args[0])
			if err != nil {
				return err
			}
			metadata, err := at.Metadata(i.ID)
			if err != nil {
				return err
			}
			listener, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("serving the metadata of %s: %w", i.ID, err)
			}
			for _, variable := range at.EnvironmentOn("http://" + listener.Addr().String()) {
				fmt.Fprintln(cmd.OutOrStdout(), "export", variable)
			}
			web := &http.Server{Handler: metadata, ReadHeaderTimeout: 10 * time.Second}
			context.AfterFunc(ctx, func() { _ = web.Close() })
			if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serving the metadata of %s: %w", i.ID, err)
			}
			return nil
		},
	}
	t.add(cmd)
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to listen on")
	return cmd
}

func newAWSInstances() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "instances",
		Short: "List the instances of an emulated AWS, and whether their kubelets joined",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := t.find(cmd.Context())
			if err != nil {
				return err
			}
			list, err := at.Instances(cmd.Context())
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "INSTANCE\tTYPE\tZONE\tCAPACITY\tSTATE\tNODECLAIM\tCONSOLE")
			for _, i := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", i.ID, i.Type, i.Zone, i.CapacityType, i.State, i.Tags["karpenter.sh/nodeclaim"], i.Console)
			}
			return w.Flush()
		},
	}
	t.add(cmd)
	return cmd
}

func newAWSCalls() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "calls",
		Short: "Count the calls of an emulated AWS by action",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := t.find(cmd.Context())
			if err != nil {
				return err
			}
			counts, err := at.Calls(cmd.Context())
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "ACTION\tCALLS\tTHROTTLED")
			for _, action := range slices.Sorted(maps.Keys(counts.Calls)) {
				fmt.Fprintf(w, "%s\t%d\t%d\n", action, counts.Calls[action], counts.Throttled[action])
			}
			return w.Flush()
		},
	}
	t.add(cmd)
	return cmd
}
