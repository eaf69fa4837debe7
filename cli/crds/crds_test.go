package crds

import (
	"bytes"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/deploy"
)

const name = "nodepools.karpenter.sh"

// served is our own definition of NodePools as an API server has it.
func served(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	list, err := deploy.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		crd := new(apiextensionsv1.CustomResourceDefinition)
		if err := yaml.Unmarshal(c.YAML, crd); err != nil {
			t.Fatal(err)
		}
		if crd.Name == name {
			return crd
		}
	}
	t.Fatal("no definition of NodePools")
	return nil
}

func TestWhatAClusterHasBeyondOursIsKeptOrRefusedByName(t *testing.T) {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	for title, row := range map[string]struct {
		change  func(root map[string]apiextensionsv1.JSONSchemaProps)
		said    string
		refused bool
	}{
		"a later field":                  {func(root map[string]apiextensionsv1.JSONSchemaProps) { root["later"] = text }, "kept: the cluster's also has v1 later", false},
		"a later field, and one missing": {func(root map[string]apiextensionsv1.JSONSchemaProps) { root["later"] = text; delete(root, "status") }, "not replaced: the cluster's also has v1 later; this version's also has v1 status", true},
	} {
		have := served(t)
		row.change(have.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties)
		api := fake.NewClientset(have).ApiextensionsV1().CustomResourceDefinitions()
		var out bytes.Buffer
		err := Upgrade(t.Context(), api, &out, true)
		if !strings.Contains(out.String(), name) || !strings.Contains(out.String(), row.said) {
			t.Errorf("%s: printed\n%s", title, &out)
		}
		if row.refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "not replaced: "+name) {
			t.Errorf("%s: %v", title, err)
		}
		after, err := api.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := after.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["later"]; !ok {
			t.Errorf("%s: the field is gone", title)
		}
	}
}
