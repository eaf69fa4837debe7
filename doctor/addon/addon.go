package addon

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/doctor/source"
)

// Addon is one that a cluster has, or will have.
type Addon struct {
	Cluster, Name string
	// Version is such as v1.36.0-eksbuild.1; without one it is taken to be the latest.
	Version string
	// Configuration is what is set, in JSON or YAML; it may be empty.
	Configuration string
	// Address is that of Terraform's resource, empty if it is none of Terraform's.
	Address string
	// Write is the fix that sets a configuration, the whole of it and what changes. Without it,
	// it is a call of the AWS CLI.
	Write func(whole, change map[string]any) (*doctor.Fix, error)
}

// Known reports whether it is known what an add-on runs.
func Known(name string) bool { return models[name].render != nil }

// Names are the add-ons that are known, in order.
func Names() []string { return slices.Sorted(maps.Keys(models)) }

// Source is what the add-on runs. Its name must be Known.
func (a Addon) Source() (*source.Source, error) {
	m, known := models[a.Name]
	if !known {
		return nil, fmt.Errorf("add-on %s: it is not known what it runs; known are %s", a.Name, strings.Join(Names(), ", "))
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(a.Configuration), &values); err != nil {
		return nil, fmt.Errorf("add-on %s: configuration values: %w", a.Name, err)
	}
	values, err := source.Plain(values)
	if err != nil {
		return nil, err
	}
	defaults, err := m.plainDefaults()
	if err != nil {
		return nil, err
	}
	v, err := a.version()
	if err != nil {
		return nil, err
	}
	write := a.Write
	if write == nil {
		write = a.update
	}
	return &source.Source{
		Name: "EKS add-on " + a.Name, Values: values, All: source.Merge(defaults, values),
		Render: func(values map[string]any) ([]client.Object, error) {
			c := configuration{source.Merge(defaults, values), v}
			objects := m.render(c)
			for _, o := range objects {
				o.SetNamespace("kube-system")
			}
			return objects, nil
		},
		Write: func(change map[string]any) (*doctor.Fix, error) {
			return write(source.Defined(source.Merge(values, change)), change)
		},
	}, nil
}

// version is that of what the add-on runs, nil for the latest.
func (a Addon) version() (*version.Version, error) {
	if a.Version == "" {
		return nil, nil
	}
	v, err := version.ParseGeneric(strings.TrimPrefix(strings.Split(a.Version, "-")[0], "v"))
	if err != nil {
		return nil, fmt.Errorf("add-on %s: version %q: %w", a.Name, a.Version, err)
	}
	return v, nil
}

// update sets the whole configuration, as the API replaces it as a whole.
func (a Addon) update(whole, _ map[string]any) (*doctor.Fix, error) {
	text, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("writing configuration values: %w", err)
	}
	cluster, file := a.Cluster, a.Name+".configuration.json"
	if cluster == "" {
		cluster = "CLUSTER"
	}
	return &doctor.Fix{
		Form: "EKS add-on", File: file, Text: string(text) + "\n",
		Do: fmt.Sprintf("aws eks update-addon --cluster-name %s --addon-name %s --resolve-conflicts PRESERVE --configuration-values file://%s", finding.Word(cluster), finding.Word(a.Name), finding.Word(file)),
	}, nil
}

// configuration is all values, with the defaults, and a version.
type configuration struct {
	values  map[string]any
	version *version.Version
}

// since reports whether the version is at least another.
func (c configuration) since(v string) bool {
	return c.version == nil || c.version.AtLeast(version.MustParseGeneric(v))
}

// read decodes the value at a path into something, which stays as it is if there is none.
func (c configuration) read(into any, path ...string) {
	var value any = c.values
	for _, key := range path {
		m, ok := value.(map[string]any)
		if !ok {
			return
		}
		value = m[key]
	}
	if text, err := json.Marshal(value); err == nil && value != nil {
		_ = json.Unmarshal(text, into) // of another type it counts as not set; EKS refuses it
	}
}
