package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/cli/gates"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/spread"
)

// environment marks flags that may be set by a variable.
const environment = "millwright.dev/environment"

// variable is the environment variable of a flag.
func variable(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// fromEnvironment sets the flags that the command line did not set and that have a variable.
// Kubectl's connection flags have none: kubectl has none for them, and KUBECONFIG works anyway.
func fromEnvironment(flags *pflag.FlagSet) error {
	var first error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || first != nil || f.Annotations[environment] == nil {
			return
		}
		name := variable(f.Name)
		value := os.Getenv(name)
		if value == "" {
			return
		}
		if err := f.Value.Set(value); err != nil {
			first = fmt.Errorf("environment variable %s: invalid value %q: %w", name, value, err)
			return
		}
		f.Changed = true
	})
	return first
}

// readsEnvironment gives every flag defined so far its variable, and says so in the help.
func readsEnvironment(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[environment] = []string{variable(f.Name)}
		f.Usage += " [$" + variable(f.Name) + "]"
	})
}

// foreign are Karpenter's settings that mean nothing to Millwright, or nothing yet: a Deployment of
// Karpenter's must start all the same, and what Karpenter refuses is refused.
var foreign = []struct {
	name, value string
	allowed     []string // none: anything
	why         string
}{
	{"karpenter-service", "", nil, "there is no webhook"},
	{"disable-controller-warmup", "true", trueFalse, "standby replicas always keep their caches warm"},
	{"disable-cluster-state-observability", "false", trueFalse, "metrics are always served"},
	{"cpu-requests", "1000", nil, "the number of workers does not depend on it"},
	{"ami-refresh-interval", "1m0s", nil, "images are looked up once a minute"},
	{"subnet-refresh-interval", "1m0s", nil, "subnets are looked up once a minute"},
	{"security-group-refresh-interval", "1m0s", nil, "security groups are looked up once a minute"},
	{"legacy-node-repair", "false", trueFalse, "there is one way to repair nodes"},
}

var trueFalse = []string{"true", "false"}

// word is a flag that takes one of some words, or any if there are none.
type word struct {
	value   string
	allowed []string
}

// Set refuses what is not allowed.
func (w *word) Set(s string) error {
	if len(w.allowed) > 0 && !slices.Contains(w.allowed, s) {
		return fmt.Errorf("must be one of %s", strings.Join(w.allowed, ", "))
	}
	w.value = s
	return nil
}

// String is the word.
func (w *word) String() string { return w.value }

// Type is the flag's type in the help.
func (w *word) Type() string { return "string" }

// addForeign defines the settings without effect; the help leaves them out.
func addForeign(flags *pflag.FlagSet) {
	for _, f := range foreign {
		flag := flags.VarPF(&word{f.value, f.allowed}, f.name, "", "without effect: "+f.why)
		flag.Hidden = true
		if len(f.allowed) > 0 && f.allowed[0] == trueFalse[0] {
			flag.NoOptDefVal = "true"
		}
	}
}

// warnForeign says which settings are without effect.
func (c console) warnForeign(flags *pflag.FlagSet) {
	for _, f := range foreign {
		if set := flags.Lookup(f.name); set.Value.String() != f.value {
			c.warn("--%s=%s has no effect: %s", f.name, set.Value, f.why)
		}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if g, ok := f.Value.(*gates.Gates); ok {
			for _, name := range g.Foreign() {
				c.warn("--%s %s=true has no effect: that gate cannot be switched here", f.Name, name)
			}
		}
	})
}

// ofPod are variables of Karpenter's pods that say where it runs, not what it does.
var ofPod = []string{"KUBERNETES_MIN_VERSION", "SYSTEM_NAMESPACE", "DISABLE_WEBHOOK", "WEBHOOK_PORT", "MEMORY_LIMIT"}

// judge says what is to be known of a variable of Karpenter's, empty if it has its effect here.
func (c console) judge(name, value string) string {
	said := "no setting that is known here"
	if slices.Contains(ofPod, name) || strings.HasPrefix(name, "AWS_") {
		said = ""
	}
	newRun(c).Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[environment] == nil || variable(f.Name) != name {
			return
		}
		why, without := strings.CutPrefix(f.Usage, "without effect: ")
		err := f.Value.Set(value)
		switch {
		case err != nil && value != "":
			said = err.Error()
		case without && value != "" && f.Value.String() != f.DefValue:
			said = "no effect: " + strings.TrimSuffix(why, " [$"+name+"]")
		default:
			said = ""
		}
		if g, ok := f.Value.(*gates.Gates); ok && err == nil {
			said = g.Judge()
		}
	})
	return said
}

// bestEffort is Karpenter's word for minValues that are only wished for.
const bestEffort = "BestEffort"

func addMinValues(flags *pflag.FlagSet, into *word) {
	*into = word{"Strict", []string{"Strict", bestEffort}}
	flags.Var(into, "min-values-policy", "what to do for pods for which a NodePool has fewer different values than its minValues: Strict launches nothing, BestEffort makes do with what there is")
}

// ignore is Karpenter's word for plans that pay no heed to what pods prefer.
const ignore = "Ignore"

func addScheduler(flags *pflag.FlagSet, into *spread.Defaults) {
	flags.Func("scheduler-config", "how kube-scheduler is configured, as a `document` in YAML or JSON: podTopologySpread.defaultConstraints are the topology spread constraints of pods that state none", func(s string) (err error) {
		*into, err = spread.Parse(s)
		return err
	})
}

// preferences are the settings about what pods prefer.
type preferences struct {
	policy word
	// cost is in percent.
	cost float64
}

func addPreferences(flags *pflag.FlagSet, into *preferences) {
	into.policy = word{"Respect", []string{"Respect", ignore}}
	flags.Var(&into.policy, "preference-policy", "what to do about what pods prefer: Respect follows it as long as it costs little, Ignore does not look at it")
	flags.Float64Var(&into.cost, "preference-cost", 10, "percent by which pods that prefer something may become dearer for it")
}

func (p *preferences) check() error {
	if !(p.cost >= 0 && p.cost <= 10_000) {
		return fmt.Errorf("--preference-cost: must be between 0 and 10000, not %g", p.cost)
	}
	return nil
}

// apply sets the options of a plan, where nothing is less than zero.
func (p *preferences) apply(o *placement.Options) {
	o.IgnorePreferences = p.policy.value == ignore
	if o.Preference = p.cost / 100; p.cost == 0 {
		o.Preference = -1
	}
}
