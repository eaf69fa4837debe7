package checkup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/account"
	"github.com/millwright-dev/millwright/doctor/addon"
	"github.com/millwright-dev/millwright/doctor/helm"
	"github.com/millwright-dev/millwright/doctor/terraform"
)

// addDocuments adds what Terraform's and the AWS CLI's documents say, in the order of the
// flags, and the charts that none of Terraform's releases installs.
func (g *Given) addDocuments(in *Input, r Readers) error {
	charts, err := g.charts()
	if err != nil {
		return err
	}
	for _, file := range g.Terraform {
		doc, err := parse(file, r.Stdin, terraform.Read)
		if err != nil {
			return fmt.Errorf("--terraform: %s: %w", file, err)
		}
		if err := in.addTerraform(doc, filepath.Dir(file), charts, r.Warn); err != nil {
			return err
		}
	}
	for _, c := range charts {
		if c.used {
			continue
		}
		if err := in.addChart(c.chart, chartPlace(c.chart)); err != nil {
			return err
		}
	}
	for _, file := range g.Addons {
		addons, err := parse(file, r.Stdin, addon.Read)
		if err != nil {
			return fmt.Errorf("--eks-addon: %s: %w", file, err)
		}
		if err := in.addAddons(addons, "", r.Warn); err != nil {
			return err
		}
	}
	for _, file := range g.Documents {
		told, err := parse(file, r.Stdin, account.Read)
		if err != nil {
			return fmt.Errorf("--aws-document: %s: %w", file, err)
		}
		in.addAccount(told)
	}
	return nil
}

func (in *Input) addAccount(told account.Told) {
	in.cloud.Merge(told.Account)
	in.queues = append(in.queues, told.Queues...)
}

// parse reads a file, or standard input if it is "-".
func parse[T any](file string, stdin io.Reader, read func(io.Reader) (T, error)) (out T, err error) {
	if file == "-" {
		return read(stdin)
	}
	f, err := os.Open(file)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return out, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return read(f)
}

// atHand is a chart of the flags.
type atHand struct {
	name  string
	chart helm.Chart
	used  bool
}

func (g *Given) charts() ([]*atHand, error) {
	out := make([]*atHand, len(g.Charts))
	for i, c := range g.Charts {
		name, err := c.Name()
		if err != nil {
			return nil, err
		}
		out[i] = &atHand{name: name, chart: c}
	}
	return out, nil
}

func (in *Input) addChart(c helm.Chart, place func(doctor.Finding) string) error {
	src, err := c.Source()
	if err != nil {
		return err
	}
	return in.AddSource(src, place)
}

// inTerraform says where a resource is written.
func inTerraform(dir, address string) func(doctor.Finding) string {
	return func(doctor.Finding) string { return terraformPlace(dir, address) }
}

// addAddons adds what add-ons run; dir is where Terraform's files are, if they are of those.
func (in *Input) addAddons(addons []addon.Addon, dir string, warn func(string, ...any)) error {
	for _, a := range addons {
		if !addon.Known(a.Name) {
			in.skip(warn, "EKS add-on %s; known are %s", a.Name, strings.Join(addon.Names(), ", "))
			continue
		}
		src, err := a.Source()
		if err != nil {
			return err
		}
		if err := in.AddSource(src, inTerraform(dir, a.Address)); err != nil {
			return err
		}
	}
	return nil
}

func (in *Input) addTerraform(doc *terraform.Document, dir string, charts []*atHand, warn func(string, ...any)) error {
	for _, src := range doc.Sources {
		if err := in.AddSource(src, inTerraform(dir, strings.TrimPrefix(src.Name, "Terraform "))); err != nil {
			return err
		}
	}
	in.groups = append(in.groups, doc.Groups...)
	queues, err := doc.Queues()
	if err != nil {
		return err
	}
	in.queues = append(in.queues, queues...)
	told, err := doc.Account()
	if err != nil {
		return err
	}
	in.cloud.Merge(told)
	for _, q := range queues {
		if in.queued == nil {
			in.queued = map[string]string{}
		}
		in.queued[q.Name] = terraformPlace(dir, q.Name)
	}
	if err := in.addAddons(doc.Addons, dir, warn); err != nil {
		return err
	}
	for _, release := range doc.Releases {
		if release.Unknown {
			for _, c := range charts { // one without values of its own is only there for the release
				c.used = c.used || c.name == filepath.Base(release.Chart) && len(c.chart.Values)+len(c.chart.Settings) == 0
			}
			in.skip(warn, "%s: its values are known only after an apply; give its chart with --helm-chart and --values, or a plan made after the apply", release.Address)
			continue
		}
		path := pathOf(release, dir, charts)
		if path == "" {
			in.skip(warn, "%s: its chart %s is not at hand; give it with --helm-chart", release.Address, release.Chart)
			continue
		}
		chart := release.Install
		chart.Path = path
		if err := in.addChart(chart, inTerraform(dir, release.Address)); err != nil {
			return fmt.Errorf("%s: %w", release.Address, err)
		}
	}
	return nil
}

// pathOf finds the chart of a release: a folder that it names, or a chart of the flags that is
// called so; empty if there is none.
func pathOf(release terraform.Release, dir string, charts []*atHand) string {
	name := filepath.Base(release.Chart)
	for _, c := range charts {
		if c.name == name {
			c.used = true
			return c.chart.Path
		}
	}
	if release.Repository != "" {
		return ""
	}
	for _, path := range []string{release.Chart, filepath.Join(dir, release.Chart)} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
