package cli

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/cli/color"
	"github.com/millwright-dev/millwright/internal/golden"
)

const settingsPage = "../docs/settings.md"

// The page of the settings lists every flag of the controller with its variable and default,
// and what of Karpenter's has no effect.
func TestThePageOfTheSettingsListsEveryFlag(t *testing.T) {
	mode := color.Never
	cmd := newRun(console{genericiooptions.IOStreams{}, &mode})
	var out, foreignRows strings.Builder
	out.WriteString(`# Settings of the controller

Settings of ` + "`millwright run`" + ` come from flags, then from environment variables, then from defaults. Names and defaults are Karpenter's where Karpenter has the setting. The chart sets them from its values ([values.yaml](../deploy/chart/values.yaml)); ` + "`controller.env`" + ` sets any other. What holds for machines of one pool and not for the process is in NodePools, node classes and NodePolicies: [reference](reference/README.md).

This page is written by a test from the flags (` + "`go test ./cli -run Settings -rewrite`" + `). Kubectl's flags for the connection (` + "`--kubeconfig`, `--context`" + ` and so on) are understood too.

| flag | variable | default | |
|---|---|---|---|
`)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		variable := f.Annotations[environment]
		switch {
		case variable == nil:
		case f.Hidden:
			why, _ := strings.CutPrefix(f.Usage, "without effect: ")
			fmt.Fprintf(&foreignRows, "| `%s` | `%s` | %s |\n", f.Name, cmp.Or(f.DefValue, "none"), strings.TrimSuffix(why, " [$"+variable[0]+"]"))
		default:
			fmt.Fprintf(&out, "| `--%s` | `%s` | %s | %s |\n", f.Name, variable[0], code(f.DefValue), strings.ReplaceAll(strings.TrimSuffix(f.Usage, " [$"+variable[0]+"]"), "|", `\|`))
		}
	})
	out.WriteString("\n## Karpenter's settings without effect\n\nA Deployment of Karpenter's starts all the same; a warning names those that are set to another value than their default.\n\n| setting | default | why |\n|---|---|---|\n" + foreignRows.String())
	golden.Compare(t, settingsPage, out.String())
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
