package crdupgrade

import (
	"reflect"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/deploy"
)

func pools(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return definition(t, "karpenter.sh_nodepools.yaml")
}

func definition(t *testing.T, file string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	list, err := deploy.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.File == file {
			out := new(apiextensionsv1.CustomResourceDefinition)
			if err := yaml.Unmarshal(c.YAML, out); err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	t.Fatalf("no definition %s", file)
	return nil
}

// edit changes the schema of a field of NodePools, disruption, in place.
func edit(crd *apiextensionsv1.CustomResourceDefinition, change func(disruption *apiextensionsv1.JSONSchemaProps)) {
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	spec := root.Properties["spec"]
	disruption := spec.Properties["disruption"]
	change(&disruption)
	spec.Properties["disruption"] = disruption
	root.Properties["spec"] = spec
}

func TestAFieldThatAClusterHasIsNeverTakenAway(t *testing.T) {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	add := func(d *apiextensionsv1.JSONSchemaProps) { d.Properties["later"] = text }
	drop := func(d *apiextensionsv1.JSONSchemaProps) { delete(d.Properties, "budgets") }
	yes := true
	open := func(d *apiextensionsv1.JSONSchemaProps) {
		drop(d)
		d.XPreserveUnknownFields = &yes
	}
	for name, row := range map[string]struct {
		change       func(*apiextensionsv1.JSONSchemaProps)
		want         Action
		theirs, ours []string
	}{
		"the same":                      {func(*apiextensionsv1.JSONSchemaProps) {}, Upgrade, nil, nil},
		"one with a further field":      {add, Keep, []string{"v1 spec.disruption.later"}, nil},
		"one that lacks a field":        {drop, Upgrade, nil, []string{"v1 spec.disruption.budgets"}},
		"one with and one without":      {func(d *apiextensionsv1.JSONSchemaProps) { add(d); drop(d) }, Refuse, []string{"v1 spec.disruption.later"}, []string{"v1 spec.disruption.budgets"}},
		"one that takes any field":      {open, Keep, []string{"v1 spec.disruption.*"}, nil},
		"one that differs in its rules": {func(d *apiextensionsv1.JSONSchemaProps) { d.Description = "other words" }, Upgrade, nil, nil},
	} {
		have := pools(t)
		edit(have, row.change)
		got := Decide(have, pools(t))
		if got.Action != row.want || !slices.Equal(got.Theirs, row.theirs) || !slices.Equal(got.Ours, row.ours) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// Karpenter 1.15 checks nothing of spec.kubelet, 1.14 all. Ours knows types for what 1.14 knew, so
// a value of another type can be said with 1.15's alone.
func TestADefinitionThatTakesAnythingIsNotReplacedByOneWithTypes(t *testing.T) {
	const file = "karpenter.k8s.aws_ec2nodeclasses.yaml"
	yes := true
	for name, row := range map[string]struct {
		kubelet func(*apiextensionsv1.JSONSchemaProps)
		want    Verdict
	}{
		"1.14": {func(k *apiextensionsv1.JSONSchemaProps) { k.XPreserveUnknownFields = nil }, Verdict{Upgrade, nil, []string{"v1 spec.kubelet.*"}}},
		"1.15": {func(k *apiextensionsv1.JSONSchemaProps) {
			*k = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &yes}
		}, Verdict{Keep, []string{"v1 spec.kubelet.*"}, nil}},
	} {
		have := definition(t, file)
		spec := have.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		kubelet := spec.Properties["kubelet"]
		row.kubelet(&kubelet)
		spec.Properties["kubelet"] = kubelet
		if got := Decide(have, definition(t, file)); !reflect.DeepEqual(got, row.want) {
			t.Errorf("that of Karpenter %s: got %+v, want %+v", name, got, row.want)
		}
	}
}

func TestAServedVersionIsNeverTakenAway(t *testing.T) {
	have := pools(t)
	later := *have.Spec.Versions[0].DeepCopy()
	later.Name = "v2"
	have.Spec.Versions = append(have.Spec.Versions, later)
	if got := Decide(have, pools(t)); got.Action != Keep || !slices.Equal(got.Theirs, []string{"v2"}) {
		t.Errorf("got %+v", got)
	}
	if got := Decide(nil, pools(t)); got.Action != Create {
		t.Errorf("got %+v", got)
	}
}

// Cluster Autoscaler's may be older or newer; that keeps nothing else from being installed.
func TestAKindThatOthersReadAsWellIsKept(t *testing.T) {
	const file = "autoscaling.x-k8s.io_capacitybuffers.yaml"
	have := definition(t, file)
	have.Spec.Versions[0].Name = "v1alpha1"
	if got := Decide(have, definition(t, file)); got.Action != Keep || !slices.Equal(got.Theirs, []string{"v1alpha1"}) || !slices.Equal(got.Ours, []string{"v1beta1"}) {
		t.Errorf("got %+v", got)
	}
}
