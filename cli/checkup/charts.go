package checkup

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/doctor/helm"
)

// Charts are Helm charts as flags name them: each --helm-chart, and what belongs to the one
// before it.
type Charts []helm.Chart

// AddFlags defines --helm-chart, --values, --set and --release.
func (c *Charts) AddFlags(flags *pflag.FlagSet) {
	flags.Var(chartFlag{c, (*Charts).open}, "helm-chart", "folder or archive of a Helm chart, rendered with its values; may be repeated")
	flags.Var(chartFlag{c, (*Charts).values}, "values", "file of values of the chart before it; may be repeated")
	flags.Var(chartFlag{c, (*Charts).set}, "set", "a value of the chart before it, as in node.tolerateAllTaints=true; may be repeated")
	flags.Var(chartFlag{c, (*Charts).release}, "release", "what the chart before it is, or will be, installed as: NAME or NAMESPACE/NAME (default: default/ and the chart's name)")
}

var errNoChart = errors.New("give the chart that it belongs to before it, with --helm-chart")

func (c *Charts) open(path string) error {
	*c = append(*c, helm.Chart{Path: path})
	return nil
}

func (c *Charts) values(file string) error {
	if len(*c) == 0 {
		return errNoChart
	}
	last := &(*c)[len(*c)-1]
	last.Values = append(last.Values, file)
	return nil
}

func (c *Charts) set(text string) error {
	if len(*c) == 0 {
		return errNoChart
	}
	last := &(*c)[len(*c)-1]
	last.Settings = append(last.Settings, helm.Setting{Text: text})
	return nil
}

func (c *Charts) release(name string) error {
	if len(*c) == 0 {
		return errNoChart
	}
	last := &(*c)[len(*c)-1]
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		last.Namespace, name = namespace, rest
	}
	last.Release = name
	return nil
}

// chartFlag is one of the flags, whose order counts.
type chartFlag struct {
	charts *Charts
	set    func(*Charts, string) error
}

func (chartFlag) String() string       { return "" }
func (chartFlag) Type() string         { return "string" }
func (f chartFlag) Set(s string) error { return f.set(f.charts, s) }
