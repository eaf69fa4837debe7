package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/gates"
	"github.com/millwright-dev/millwright/cli/running"
	"github.com/millwright-dev/millwright/cli/settings"
	"github.com/millwright-dev/millwright/cli/switches"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/cluster/devicecel"
	"github.com/millwright-dev/millwright/engine/plan"
)

// learned are the settings of the controller that decisions go by: those of its pod, unless
// flags give them.
type learned struct {
	flags *pflag.FlagSet
	// types names the instance types; see addInstanceTypes.
	types    string
	planning settings.Planning
	gates    gates.Gates
	// unknown are those that neither flags nor a pod give.
	unknown []string
}

// add defines the flags.
func (l *learned) add(cmd *cobra.Command) {
	addInstanceTypes(cmd, &l.types)
	l.flags = pflag.NewFlagSet("controller", pflag.ContinueOnError)
	l.flags.AddFlag(cmd.Flags().Lookup(instanceTypesFlag))
	l.planning.Add(l.flags)
	settings.AddGates(l.flags, &l.gates)
	cmd.Flags().AddFlagSet(l.flags)
	l.planning.Complete(cmd)
}

// from takes settings that are not given from a pod, which may be nil, and says which ones.
func (l *learned) from(pod *corev1.Pod, c console) {
	var known []string
	known, l.unknown = settings.Learn(l.flags, pod)
	if len(known) > 0 {
		c.note("settings of %s: %s", plan.PodRef(pod), strings.Join(known, " "))
	}
}

// addSettings defines the flags that are the controller's.
func (q *question) addSettings(cmd *cobra.Command) {
	q.controller.add(cmd)
	switches.Add(q.controller.flags, &q.ignoreDRA, "ignore-dra-requests", true, "devices that pods claim do not count")
	cmd.Flags().AddFlagSet(q.controller.flags)
}

// learn takes the settings that are not given from the controller's pod, and returns what of them
// is about the objects.
func (q *question) learn(ctx context.Context, c console, reader client.Reader) (cluster.Options, error) {
	pod, err := running.Pod(ctx, reader)
	if err != nil {
		return cluster.Options{}, err
	}
	q.controller.from(pod, c)
	options := cluster.Options{Spread: q.controller.planning.Spread}
	if !q.ignoreDRA {
		options.Devices = devicecel.New()
	}
	return options, q.controller.planning.Check()
}
