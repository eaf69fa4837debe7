package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// environment marks flags that may be set by a variable.
const environment = "millwright.dev/environment"

// variable is the environment variable of a flag.
func variable(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// fromEnvironment sets the flags that the command line did not set and that have
// a variable. Kubectl's connection flags have none: kubectl has none for them,
// and KUBECONFIG works anyway.
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

// readsEnvironment gives every flag defined so far its variable, and says so in
// the help.
func readsEnvironment(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[environment] = []string{variable(f.Name)}
		f.Usage += " [$" + variable(f.Name) + "]"
	})
}

// boolean is a switch that takes nothing but true and false, as Karpenter's.
type boolean bool

func strictBool(flags *pflag.FlagSet, into *bool, name string, value bool, usage string) {
	*into = value
	flags.VarPF((*boolean)(into), name, "", usage).NoOptDefVal = "true"
}

// Set refuses 1, t, yes and the like.
func (b *boolean) Set(s string) error {
	if s != "true" && s != "false" {
		return fmt.Errorf("%q is not true or false", s)
	}
	*b = s == "true"
	return nil
}

// String is true or false.
func (b *boolean) String() string { return fmt.Sprint(bool(*b)) }

// Type is the flag's type; pflag knows a switch by it.
func (b *boolean) Type() string { return "bool" }

// foreign are Karpenter's settings that mean nothing to Millwright, or nothing
// yet: a Deployment of Karpenter's must start all the same.
var foreign = []struct {
	name, value string
	isBool      bool
	why         string
}{
	{"karpenter-service", "", false, "there is no webhook"},
	{"enable-profiling", "false", true, "profiles are not served"},
	{"disable-controller-warmup", "true", true, "standby replicas always keep their caches warm"},
	{"disable-cluster-state-observability", "false", true, "metrics are always served"},
	{"cpu-requests", "1000", false, "the number of workers does not depend on it"},
	{"preference-policy", "Respect", false, "preferences of pods are not considered yet"},
	{"min-values-policy", "Strict", false, "minValues are always strict"},
	{"ignore-dra-requests", "true", true, "resource claims are not considered yet"},
	{"feature-gates", "", false, "no gated feature of Karpenter's can be switched"},
	{"scheduler-config", "", false, "the scheduler's configuration is not read"},
}

func addForeign(flags *pflag.FlagSet) {
	for _, f := range foreign {
		usage := "understood for Karpenter's sake, without effect: " + f.why
		if f.isBool {
			strictBool(flags, new(bool), f.name, f.value == "true", usage)
		} else {
			flags.String(f.name, f.value, usage)
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
}
