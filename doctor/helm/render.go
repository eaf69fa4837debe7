package helm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2"
	dependencies "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/source"
)

// release is a chart under a name. load makes a new copy of the chart, as rendering changes it.
type release struct {
	name, namespace string
	load            func() (*v2.Chart, error)
}

// istioDefaults is the value below which Istio's charts keep the defaults of all others.
const istioDefaults = "_internal_defaults_do_not_set"

func (r release) source(ch *v2.Chart, values map[string]any, write func(map[string]any) (*doctor.Fix, error)) (*source.Source, error) {
	values, err := source.Plain(values)
	if err != nil {
		return nil, err
	}
	if err := dependencies.ProcessDependencies(ch, values); err != nil { // a chart within it goes by its alias
		return nil, fmt.Errorf("chart %s: dependencies: %w", ch.Name(), err)
	}
	all, err := chartutil.CoalesceValues(ch, values)
	if err != nil {
		return nil, fmt.Errorf("chart %s: values: %w", ch.Name(), err)
	}
	plain, err := source.Plain(all)
	if err != nil {
		return nil, err
	}
	if defaults, ok := plain[istioDefaults].(map[string]any); ok {
		delete(plain, istioDefaults)
		plain = source.Merge(defaults, plain)
	}
	return &source.Source{Name: "chart " + ch.Name(), Values: values, All: plain, Render: r.render, Write: write}, nil
}

// render is what the chart generates, in the order of its templates.
func (r release) render(values map[string]any) ([]client.Object, error) {
	ch, err := r.load()
	if err != nil {
		return nil, err
	}
	if err := dependencies.ProcessDependencies(ch, values); err != nil {
		return nil, fmt.Errorf("chart %s: dependencies: %w", ch.Name(), err)
	}
	all, err := chartutil.ToRenderValues(ch, values, common.ReleaseOptions{Name: r.name, Namespace: r.namespace, Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, fmt.Errorf("chart %s: values: %w", ch.Name(), err)
	}
	files, err := engine.Render(ch, all)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", ch.Name(), err)
	}
	var out []client.Object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if base := path.Base(name); base == "NOTES.txt" || strings.HasPrefix(base, "_") {
			continue
		}
		objects, err := decode(files[name], r.namespace)
		if err != nil {
			return nil, fmt.Errorf("chart %s: %s: %w", ch.Name(), name, err)
		}
		out = append(out, objects...)
	}
	return out, nil
}

// hook is the annotation of objects that are made for a moment of a release only.
const hook = "helm.sh/hook"

func decode(text, namespace string) ([]client.Object, error) {
	var out []client.Object
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading YAML: %w", err)
		}
		raw, err := yaml.YAMLToJSON(doc)
		if err != nil {
			return nil, fmt.Errorf("reading YAML: %w", err)
		}
		if string(raw) == "null" {
			continue
		}
		o, err := doctor.Decode(raw, namespace)
		if err != nil {
			return nil, err
		}
		if o == nil || o.GetAnnotations()[hook] != "" {
			continue
		}
		out = append(out, o)
	}
}
