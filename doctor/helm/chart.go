package helm

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/doctor/source"
)

// Chart is one that would be installed.
type Chart struct {
	// Path is a folder or an archive (.tgz).
	Path string
	// Values are files of values, of which later ones win, Set those that win over them, and
	// Settings those that win over all.
	Values   []string
	Set      map[string]any
	Settings []Setting
	// Release and Namespace are what it would be installed as and into. Without them they are
	// the chart's name and "default".
	Release, Namespace string
	// Write is the fix that sets values. Without it, it is a values file.
	Write func(change map[string]any) (*doctor.Fix, error)
}

// Setting is what --set takes, such as node.tolerations[0].key=a, or --set-string.
type Setting struct {
	Text   string
	String bool
}

// Name is what the chart calls itself.
func (c Chart) Name() (string, error) {
	ch, err := loader.Load(c.Path)
	if err != nil {
		return "", fmt.Errorf("chart %s: %w", c.Path, err)
	}
	return ch.Name(), nil
}

// Source loads the chart and the values.
func (c Chart) Source() (*source.Source, error) {
	load := func() (*v2.Chart, error) { return loader.Load(c.Path) }
	ch, err := load()
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", c.Path, err)
	}
	if missing := lacking(ch); len(missing) > 0 {
		return nil, fmt.Errorf("chart %s: charts that it depends on are not in its charts folder: %s; 'helm dependency build' gets them", c.Path, strings.Join(missing, ", "))
	}
	values, err := c.values()
	if err != nil {
		return nil, err
	}
	r := release{name: c.Release, namespace: c.Namespace, load: load}
	if r.name == "" {
		r.name = ch.Name()
	}
	if r.namespace == "" {
		r.namespace = "default"
	}
	write := c.Write
	if write == nil {
		write = valuesFile(r.name, func(change map[string]any) string {
			return fmt.Sprintf("helm upgrade --install %s %s -n %s%s", finding.Word(r.name), finding.Word(c.Path), finding.Word(r.namespace), c.flags(change))
		})
	}
	return r.source(ch, values, write)
}

// lacking are the charts that a chart names as its dependencies and does not contain. Like Helm it
// wants them whether or not a condition leaves them out.
func lacking(ch *v2.Chart) []string {
	var out []string
	for _, d := range ch.Metadata.Dependencies {
		if !slices.ContainsFunc(ch.Dependencies(), func(c *v2.Chart) bool { return c.Name() == d.Name }) {
			out = append(out, d.Name)
		}
	}
	return out
}

// Undoing are the settings that would undo a change of values, as they win over it.
func Undoing(settings []Setting, change map[string]any) []Setting {
	var out []Setting
	for _, s := range settings {
		set, err := source.Plain(change)
		if err != nil || s.into(set) != nil {
			continue
		}
		if set, err = source.Plain(set); err == nil && !reflect.DeepEqual(set, source.Merge(set, change)) {
			out = append(out, s)
		}
	}
	return out
}

// flags are those of helm by which the values are set, without those that would undo a change.
func (c Chart) flags(change map[string]any) string {
	var b strings.Builder
	for _, f := range c.Values {
		fmt.Fprintf(&b, " -f %s", finding.Word(f))
	}
	undoing := Undoing(c.Settings, change)
	for _, s := range c.Settings {
		if slices.Contains(undoing, s) {
			continue
		}
		flag := "--set"
		if s.String {
			flag = "--set-string"
		}
		fmt.Fprintf(&b, " %s %s", flag, finding.Word(s.Text))
	}
	return b.String()
}

func (c Chart) values() (map[string]any, error) {
	out := map[string]any{}
	for _, file := range c.Values {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading values: %w", err)
		}
		var values map[string]any
		if err := yaml.Unmarshal(text, &values); err != nil {
			return nil, fmt.Errorf("reading values: %s: %w", file, err)
		}
		out = source.Merge(out, values)
	}
	out = source.Merge(out, c.Set)
	for _, s := range c.Settings {
		if err := s.into(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// into sets it among values.
func (s Setting) into(values map[string]any) error {
	parse := strvals.ParseInto
	if s.String {
		parse = strvals.ParseIntoString
	}
	if err := parse(s.Text, values); err != nil {
		return fmt.Errorf("setting values: %q: %w", s.Text, err)
	}
	return nil
}

// valuesFile writes changes of values as a file to be given to a command, after all others.
func valuesFile(name string, command func(change map[string]any) string) func(map[string]any) (*doctor.Fix, error) {
	return func(change map[string]any) (*doctor.Fix, error) {
		text, err := yaml.Marshal(change)
		if err != nil {
			return nil, fmt.Errorf("writing values: %w", err)
		}
		file := name + ".values.yaml"
		return &doctor.Fix{Form: "Helm values", Do: command(change) + " -f " + finding.Word(file), Text: string(text), File: file}, nil
	}
}
