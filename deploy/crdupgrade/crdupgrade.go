// Package crdupgrade decides what becomes of a CustomResourceDefinition that a cluster has,
// or has not, when one of ours is at hand. It is pure: definitions in, verdicts out.
//
// The rule is that nothing a cluster can say today becomes unsayable: a definition of ours
// replaces another only if every served version and every field of the other is in it too.
// So a newer definition, of a later Karpenter or a later Millwright, is never replaced by an
// older one, whatever versions the two call themselves.
package crdupgrade

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Action is what is done about a definition.
type Action string

// Actions.
const (
	// Create means that the cluster has none.
	Create Action = "Create"
	// Keep means that ours has nothing that the cluster's lacks, or that others have a say in the kind
	// and each has something that the other lacks.
	Keep Action = "Keep"
	// Upgrade means that ours has all that the cluster's has.
	Upgrade Action = "Upgrade"
	// Refuse means that each has something that the other lacks.
	Refuse Action = "Refuse"
)

// Verdict is what is done about one definition, and why.
type Verdict struct {
	Action Action
	// Theirs are the versions and fields that only the cluster's has, as in
	// "v1 spec.template.spec.newField", sorted; Ours those that only ours has.
	Theirs, Ours []string
}

// shared is the group of the kinds that Cluster Autoscaler reads as well.
const shared = "autoscaling.x-k8s.io"

// Decide compares ours with the cluster's definition of the same name, nil if it has none.
func Decide(have, ours *apiextensionsv1.CustomResourceDefinition) Verdict {
	if have == nil {
		return Verdict{Action: Create}
	}
	v := Verdict{Theirs: missing(have, ours), Ours: missing(ours, have)}
	switch {
	case len(v.Theirs) > 0 && len(v.Ours) > 0 && ours.Spec.Group != shared:
		v.Action = Refuse
	case len(v.Theirs) > 0:
		v.Action = Keep
	default: // rules, defaults and descriptions may differ though the fields do not
		v.Action = Upgrade
	}
	return v
}

// missing lists what a definition has and another lacks.
func missing(a, b *apiextensionsv1.CustomResourceDefinition) []string {
	var out []string
	for _, v := range a.Spec.Versions {
		if !v.Served {
			continue
		}
		i := slices.IndexFunc(b.Spec.Versions, func(w apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return w.Name == v.Name && w.Served
		})
		if i < 0 {
			out = append(out, v.Name)
			continue
		}
		if w := b.Spec.Versions[i]; v.Schema != nil && w.Schema != nil {
			out = append(out, fields(v.Name+" ", v.Schema.OpenAPIV3Schema, w.Schema.OpenAPIV3Schema)...)
		}
	}
	slices.Sort(out)
	return out
}

// fields lists the fields of a schema that another has no place for.
func fields(path string, a, b *apiextensionsv1.JSONSchemaProps) []string {
	if a == nil || open(b) && (b == nil || len(b.Properties) == 0) {
		return nil
	}
	var out []string
	if open(a) && (!open(b) || len(a.Properties) == 0) { // b has types for some
		out = append(out, path+"*")
	}
	for name := range a.Properties {
		sub, ok := b.Properties[name]
		if !ok && open(b) {
			continue
		}
		if !ok {
			out = append(out, path+name)
			continue
		}
		field := a.Properties[name]
		out = append(out, fields(path+name+".", &field, &sub)...)
	}
	if a.Items != nil && b.Items != nil {
		out = append(out, fields(path, a.Items.Schema, b.Items.Schema)...)
	}
	if a.AdditionalProperties != nil && b.AdditionalProperties != nil {
		out = append(out, fields(path, a.AdditionalProperties.Schema, b.AdditionalProperties.Schema)...)
	}
	return out
}

// open says whether a schema takes any field.
func open(s *apiextensionsv1.JSONSchemaProps) bool {
	return s == nil || s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields ||
		len(s.Properties) == 0 && s.AdditionalProperties != nil && s.AdditionalProperties.Allows
}
