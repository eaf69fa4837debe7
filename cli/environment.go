package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/cli/gates"
	"github.com/millwright-dev/millwright/cli/settings"
	"github.com/millwright-dev/millwright/cli/switches"
)

// environment marks flags that may be set by a variable.
const environment = "millwright.dev/environment"

// fromEnvironment sets the flags that the command line did not set and that have a variable.
// Kubectl's connection flags have none: kubectl has none for them, and KUBECONFIG works anyway.
func fromEnvironment(flags *pflag.FlagSet) error {
	var first error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || first != nil || f.Annotations[environment] == nil {
			return
		}
		name := settings.Variable(f.Name)
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
		f.Annotations[environment] = []string{settings.Variable(f.Name)}
		f.Usage += " [$" + settings.Variable(f.Name) + "]"
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

// addForeign defines the settings without effect; the help leaves them out.
func addForeign(flags *pflag.FlagSet) {
	for _, f := range foreign {
		flag := flags.VarPF(&switches.Word{Value: f.value, Allowed: f.allowed}, f.name, "", "without effect: "+f.why)
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
		if f.Annotations[environment] == nil || settings.Variable(f.Name) != name {
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
