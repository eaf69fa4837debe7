// Package adopt is the command `millwright adopt`: it says what becomes of a cluster whose
// machines another autoscaler manages, and writes what the way over needs. It changes nothing.
//
//	karpenter           reads the cluster: who acts, what is compatible, what would change
//	cluster-autoscaler  writes NodePools for Auto Scaling groups, and the waves to move
package adopt

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Config is what the command takes from the others.
type Config struct {
	Streams genericiooptions.IOStreams
	// Settings judge a setting of Karpenter's process, a variable with its value: what is to be
	// said of it, empty if it has the same effect here.
	Settings func(variable, value string) string
	// Types are the instance types by the name of their catalogue, as --instance-types has it.
	Types func(name string) ([]*catalog.Type, error)
	// Read reads manifests, and says what of them does not count.
	Read func(files []string, recursive bool) (*manifest.Result, error)
	// Findings is the error of a command that did its work and objects to something.
	Findings error
}

// New makes the command.
func New(c Config) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Prepare the way over from Karpenter or cluster-autoscaler",
	}
	cmd.AddCommand(newKarpenter(c), newAutoscaler(c))
	return cmd
}

func newAutoscaler(c Config) *cobra.Command {
	var files []string
	var cluster, role, from string
	cmd := &cobra.Command{
		Use:   "cluster-autoscaler --groups FILE --role NAME",
		Short: "Write NodePools and a node class for the Auto Scaling groups of a cluster",
		Long: `Write NodePools and a node class that take the place of Auto Scaling groups, with
the commands that move the machines, wave by wave, as a comment before them.

The groups are what "aws autoscaling describe-auto-scaling-groups" prints. Groups that
differ in their zone alone become one pool. Labels and taints come from the tags of
cluster-autoscaler's templates and, with the cluster's Nodes (-f), from what all Nodes
of a group have. Groups of other clusters, and groups that neither a tag nor a Node says
to be of this one, are left out. What a NodePool has no counterpart for is said beside
it. Nothing is changed; millwright plan says what the pools would launch.`,
		Example: `  aws autoscaling describe-auto-scaling-groups > groups.json
  kubectl get nodes -o yaml > nodes.yaml
  millwright adopt cluster-autoscaler --groups groups.json -f nodes.yaml --role nodes > pools.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if from == "" || role == "" {
				return errors.New("--groups and --role are needed\nSee 'millwright adopt cluster-autoscaler --help' for usage")
			}
			groups, err := groupsOf(c.Streams, from)
			if err != nil {
				return err
			}
			nodes, err := c.nodesOf(files)
			if err != nil {
				return err
			}
			groups, others, err := ofCluster(groups, &cluster, nodes)
			if err != nil {
				return err
			}
			all, err := pools(groups, nodes)
			if err != nil {
				return err
			}
			return moves{cluster, all, others, nodes}.write(c.Streams.Out, class(groups, cluster, role))
		},
	}
	cmd.Flags().StringVar(&from, "groups", "", "file with what describe-auto-scaling-groups prints, - for standard input")
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "files with the cluster's Nodes, for their labels and taints; may be repeated")
	cmd.Flags().StringVar(&cluster, "cluster-name", "", "name of the EKS cluster; may be empty if the groups' tags name no other")
	cmd.Flags().StringVar(&role, "role", "", "name of the IAM role of machines, for the node class")
	return cmd
}

func groupsOf(streams genericiooptions.IOStreams, file string) ([]group, error) {
	if file == "-" {
		return readGroups(streams.In)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	groups, err := readGroups(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return groups, nil
}

func (c Config) nodesOf(files []string) ([]*corev1.Node, error) {
	if len(files) == 0 {
		return nil, nil
	}
	input, err := c.Read(files, false)
	if err != nil {
		return nil, err
	}
	var out []*corev1.Node
	for _, o := range input.Objects {
		if n, ok := o.Object.(*corev1.Node); ok {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("there is no Node in the files given with -f")
	}
	return out, nil
}
