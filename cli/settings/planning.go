// Package settings has the controller's settings that its decisions go by, as flags of the commands
// that say what it decides, and learns them from the pod in which it runs.
//
//	Planning.Add ──► flags ◄── Learn(pod)    flags that were given win
package settings

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/cli/gates"
	"github.com/millwright-dev/millwright/cli/switches"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/spread"
)

// Words of Karpenter's policies: respect and strict are the defaults, ignore is for plans that do
// not look at what pods prefer, bestEffort for minValues that are only wished for.
const (
	respect    = "Respect"
	ignore     = "Ignore"
	strict     = "Strict"
	bestEffort = "BestEffort"
)

// Names of flags.
const (
	preferencePolicy = "preference-policy"
	preferenceCost   = "preference-cost"
	minValuesPolicy  = "min-values-policy"
	schedulerConfig  = "scheduler-config"
	ignoreDRA        = "ignore-dra-requests"
	featureGates     = "feature-gates"
	instanceTypes    = "instance-types"
	memoryOverhead   = "vm-memory-overhead-percent"
	reservedENIs     = "reserved-enis"
)

// Planning are the settings that every plan goes by. The zero value is for Add.
type Planning struct {
	// Spread are kube-scheduler's topology spread constraints for pods that state none.
	Spread spread.Defaults

	// PreferencePolicy and MinValuesPolicy are Karpenter's.
	PreferencePolicy, MinValuesPolicy switches.Word

	// Machines are those by which Nodes of EC2 have less than their machines.
	Machines instancetype.Settings

	// cost is in percent.
	cost float64
}

// Add defines the flags.
func (p *Planning) Add(flags *pflag.FlagSet) {
	p.PreferencePolicy = switches.Word{Value: respect, Allowed: []string{respect, ignore}}
	flags.Var(&p.PreferencePolicy, preferencePolicy, "what to do about what pods prefer: Respect follows it as long as it costs little, Ignore does not look at it")
	flags.Float64Var(&p.cost, preferenceCost, 10, "percent by which the price of pods that prefer something may rise for it")
	p.MinValuesPolicy = switches.Word{Value: strict, Allowed: []string{strict, bestEffort}}
	flags.Var(&p.MinValuesPolicy, minValuesPolicy, "what to do for pods for which a NodePool has fewer different values than its minValues: Strict launches nothing, BestEffort makes do with what there is")
	flags.Func(schedulerConfig, "how kube-scheduler is configured, as a `document` in YAML or JSON: podTopologySpread.defaultConstraints are the topology spread constraints of pods that state none", func(s string) (err error) {
		p.Spread, err = spread.Parse(s)
		return err
	})
	flags.Float64Var(&p.Machines.MemoryOverhead, memoryOverhead, instancetype.DefaultMemoryOverhead, "share of a machine's memory, from 0 to 1, that its Node does not see")
	flags.Int64Var(&p.Machines.ReservedENIs, reservedENIs, 0, "network interfaces of each machine that pods do not get")
}

// AddGates defines Karpenter's feature gates for what says what a controller would decide.
func AddGates(flags *pflag.FlagSet, into *gates.Gates) {
	*into = gates.OfKarpenter()
	flags.Var(into, featureGates, "Karpenter's feature gates, of which TerminateFirstDrift counts")
}

// Complete has shells complete the words.
func (p *Planning) Complete(cmd *cobra.Command) {
	for name, w := range map[string]switches.Word{preferencePolicy: p.PreferencePolicy, minValuesPolicy: p.MinValuesPolicy} {
		if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(w.Allowed, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // Add defines the flag
		}
	}
}

// Check refuses what is not in range.
func (p *Planning) Check() error {
	if !(p.cost >= 0 && p.cost <= 10_000) {
		return fmt.Errorf("--%s: must be between 0 and 10000, not %g", preferenceCost, p.cost)
	}
	return p.Machines.Check()
}

// Set sets the options of a plan, where nothing is less than zero.
func (p *Planning) Set(o *placement.Options) {
	o.RelaxMinValues = p.MinValuesPolicy.Value == bestEffort
	o.IgnorePreferences = p.PreferencePolicy.Value == ignore
	if o.Preference = p.cost / 100; p.cost == 0 {
		o.Preference = -1
	}
}
