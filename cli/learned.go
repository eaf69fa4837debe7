package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/running"
	"github.com/millwright-dev/millwright/cli/settings"
	"github.com/millwright-dev/millwright/cli/switches"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/cluster/devicecel"
	"github.com/millwright-dev/millwright/engine/plan"
)

// addSettings defines the flags that are the controller's.
func (q *question) addSettings(cmd *cobra.Command) {
	addInstanceTypes(cmd, &q.types)
	q.controller = pflag.NewFlagSet("controller", pflag.ContinueOnError)
	q.controller.AddFlag(cmd.Flags().Lookup(instanceTypesFlag))
	q.planning.Add(q.controller)
	settings.AddGates(q.controller, &q.gates)
	switches.Add(q.controller, &q.ignoreDRA, "ignore-dra-requests", true, "devices that pods claim do not count")
	cmd.Flags().AddFlagSet(q.controller)
	q.planning.Complete(cmd)
}

// learn takes the settings that are not given from the controller's pod, and returns what of them
// is about the objects.
func (q *question) learn(ctx context.Context, c console, reader client.Reader) (cluster.Options, error) {
	pod, err := running.Pod(ctx, reader)
	if err != nil {
		return cluster.Options{}, err
	}
	q.unknown = c.learn(q.controller, pod)
	options := cluster.Options{Spread: q.planning.Spread}
	if !q.ignoreDRA {
		options.Devices = devicecel.New()
	}
	return options, q.planning.Check()
}

// learn takes settings that are not given from a pod, which may be nil, says which ones, and
// returns those that are not known.
func (c console) learn(flags *pflag.FlagSet, pod *corev1.Pod) []string {
	learned, unknown := settings.Learn(flags, pod)
	if len(learned) > 0 {
		c.note("settings of %s: %s", plan.PodRef(pod), strings.Join(learned, " "))
	}
	return unknown
}
