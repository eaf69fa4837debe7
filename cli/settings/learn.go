package settings

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/cli/gates"
)

// Variable is the environment variable of a flag.
func Variable(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// container is the one that kubectl takes if none is named.
const container = "kubectl.kubernetes.io/default-container"

// Learn sets flags to what the controller in a pod has, except those that were given. It returns
// the values that are not the defaults and count, as --flag=value, and the names of the flags of which the
// pod does not tell: what is in a Secret, a ConfigMap or a file of the pod's is only known there.
// Nil is no pod.
func Learn(flags *pflag.FlagSet, pod *corev1.Pod) (learned, unknown []string) {
	told, hidden := tells(flags, pod)
	flags.VisitAll(func(f *pflag.Flag) {
		value, is := told[f.Name]
		switch {
		case f.Changed:
		case hidden(f.Name) || is && f.Value.Set(value) != nil:
			unknown = append(unknown, f.Name)
		case is && f.Name == featureGates:
			if g, ok := f.Value.(*gates.Gates); ok && g.On(gates.TerminateFirstDrift) {
				learned = append(learned, "--"+f.Name+"="+gates.TerminateFirstDrift+"=true")
			}
		case is && value != f.DefValue:
			learned = append(learned, "--"+f.Name+"="+value)
		}
	})
	return learned, unknown
}

// likely reports whether a setting is likely to be set where nothing tells.
func likely(name string) bool {
	return !slices.Contains([]string{schedulerConfig, instanceTypes, featureGates}, name)
}

// tells are the values of flags in a pod, and which of the flags may have others.
func tells(flags *pflag.FlagSet, pod *corev1.Pod) (map[string]string, func(string) bool) {
	if pod == nil || len(pod.Spec.Containers) == 0 {
		return nil, likely
	}
	c := pod.Spec.Containers[max(0, slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == pod.Annotations[container] }))]
	told, elsewhere := map[string]string{}, map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) {
		elsewhere[f.Name] = len(c.EnvFrom) > 0 && likely(f.Name)
		for _, v := range c.Env { // of two of one name, the last counts
			if v.Name == Variable(f.Name) {
				told[f.Name], elsewhere[f.Name] = v.Value, v.ValueFrom != nil
			}
		}
	})
	maps.DeleteFunc(told, func(_, value string) bool { return value == "" }) // an empty variable sets nothing
	line := pflag.NewFlagSet("", pflag.ContinueOnError)
	line.ParseErrorsAllowlist.UnknownFlags, line.Usage = true, func() {}
	line.AddFlagSet(flags)
	err := line.ParseAll(append(slices.Clone(c.Command), c.Args...), func(f *pflag.Flag, value string) error {
		told[f.Name], elsewhere[f.Name] = value, false
		return nil
	})
	return told, func(name string) bool {
		value := told[name]
		file := name == instanceTypes && value != "" && value != classes.EC2 && value != classes.KWOK
		return err != nil || elsewhere[name] || file || strings.Contains(value, "$(") // a reference to a variable
	}
}
