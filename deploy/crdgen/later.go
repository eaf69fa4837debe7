package main

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// later is what releases after the imported packages have added to the schemas, by file name.
// Those releases need a later Go. Without it the API server would refuse their manifests, or drop
// what they say; what this version does not act on is told on the object.
var later = map[string]func(spec *apiextensionsv1.JSONSchemaProps){
	// Karpenter 1.15.
	"karpenter.sh_nodepools.yaml": func(spec *apiextensionsv1.JSONSchemaProps) {
		disruption := spec.Properties["disruption"]
		disruption.Required = nil
		after := disruption.Properties["consolidateAfter"]
		after.Default = &apiextensionsv1.JSON{Raw: []byte(`"0s"`)}
		disruption.Properties["consolidateAfter"] = after
		reasons := disruption.Properties["budgets"].Items.Schema.Properties["reasons"]
		reasons.Description = "Reasons are the disruption methods that this budget applies to; none is all but Unhealthy, the repair of Nodes, for which Karpenter 1.15 takes such a budget as well."
		reasons.Items.Schema.Enum = append(reasons.Items.Schema.Enum, apiextensionsv1.JSON{Raw: []byte(`"Unhealthy"`)})
		disruption.Properties["budgets"].Items.Schema.Properties["reasons"] = reasons
		spec.Properties["disruption"] = disruption
	},
	// Karpenter's provider for AWS 1.15. It leaves all of spec.kubelet unchecked by the API server, and
	// takes expressions behind the gate NodeClassCEL.
	"karpenter.k8s.aws_ec2nodeclasses.yaml": func(spec *apiextensionsv1.JSONSchemaProps) {
		kubelet, open := spec.Properties["kubelet"], true
		kubelet.XPreserveUnknownFields = &open
		pods := kubelet.Properties["maxPods"]
		kubelet.Properties["maxPods"] = apiextensionsv1.JSONSchemaProps{
			Description:  pods.Description + " A string is an expression of CEL, evaluated for each instance type.",
			XIntOrString: true, XValidations: apiextensionsv1.ValidationRules{{Rule: "type(self) != int || self >= 0", Message: "maxPods cannot be negative"}},
		}
		for _, name := range []string{"kubeReserved", "systemReserved"} {
			reserve := kubelet.Properties[name]
			reserve.Description += " What is no quantity is an expression of CEL, evaluated for each instance type."
			reserve.AdditionalProperties.Schema.Pattern += expression
			kubelet.Properties[name] = reserve
		}
		spec.Properties["kubelet"] = kubelet
		spec.Properties["enclaveOptions"] = apiextensionsv1.JSONSchemaProps{
			Type:        "object",
			Description: "EnclaveOptions says whether instances are enabled for Nitro Enclaves; if it is left out they are not. If they are, only instance types are launched that support them.",
			Required:    []string{"enabled"},
			Properties:  map[string]apiextensionsv1.JSONSchemaProps{"enabled": {Type: "boolean"}},
		}
	},
}

// expression is what the API server lets pass as an expression beside the pattern of a quantity:
// the name of a variable, or what has an operator or a call.
const expression = `|^[a-z_]+$|[-+*/%?(]`

// amended is a published definition with what later releases have added.
func amended(file string, text []byte) ([]byte, error) {
	add, ok := later[file]
	if !ok {
		return text, nil
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i := range crd.Spec.Versions {
		properties := crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties
		spec := properties["spec"]
		add(&spec)
		properties["spec"] = spec
	}
	return yaml.Marshal(struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              apiextensionsv1.CustomResourceDefinitionSpec `json:"spec"`
	}{crd.TypeMeta, crd.ObjectMeta, crd.Spec})
}
