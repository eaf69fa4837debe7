package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	kjson "sigs.k8s.io/json"

	"github.com/millwright-dev/millwright/deploy/fields"
)

// ErrUnknownKind is returned for a kind that no CRD defines in that version.
var ErrUnknownKind = errors.New("no CRD defines this kind")

// CustomResource applies the defaults of the kind's CRD to a JSON object and
// checks it. It returns the object with its defaults, or the errors that the API
// server would give. Rules that compare with an earlier state of the object do
// not apply. It is safe for concurrent use.
func CustomResource(kind schema.GroupVersionKind, raw []byte) ([]byte, field.ErrorList, error) {
	byKind, err := definitions()
	if err != nil {
		return nil, nil, err
	}
	compile, ok := byKind[kind]
	if !ok {
		return nil, nil, ErrUnknownKind
	}
	d, err := compile()
	if err != nil {
		return nil, nil, fmt.Errorf("compiling the schema of %s: %w", kind.Kind, err)
	}
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
		return nil, nil, fmt.Errorf("decoding: %w", err)
	}
	putBack := leaveOut(kind, object)
	if errs, err := unknownFields(kind, object); err != nil || len(errs) > 0 {
		return nil, errs, err
	}
	if errs := d.admit(object); len(errs) > 0 {
		return nil, errs, nil
	}
	putBack()
	out, err := json.Marshal(object)
	return out, nil, err
}

// leaveOut takes out of an EC2NodeClass what Karpenter's own definition leaves unchecked from 1.15 on,
// spec.kubelet: a cluster may hold what ours refuses. What is wrong with it is said of the class.
func leaveOut(kind schema.GroupVersionKind, object map[string]any) (putBack func()) {
	spec, _ := object["spec"].(map[string]any)
	kubelet, ok := spec["kubelet"].(map[string]any)
	if !ok || kind.Kind != "EC2NodeClass" {
		return func() {}
	}
	delete(spec, "kubelet")
	return func() { spec["kubelet"] = kubelet }
}

// definition is a compiled CRD of one version.
type definition struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// definitions are the CRDs by kind; each is compiled on first use.
var definitions = sync.OnceValues(func() (map[schema.GroupVersionKind]func() (*definition, error), error) {
	schemas, err := fields.Definitions()
	if err != nil {
		return nil, err
	}
	out := map[schema.GroupVersionKind]func() (*definition, error){}
	for kind, read := range schemas {
		out[kind] = sync.OnceValues(func() (*definition, error) {
			s, err := read()
			if err != nil {
				return nil, err
			}
			return compile(s)
		})
	}
	return out, nil
})

func compile(s *fields.Schema) (*definition, error) {
	validator, _, err := validation.NewSchemaValidator(s.Props)
	if err != nil {
		return nil, err
	}
	return &definition{
		structural: s.Structural,
		schema:     validator,
		rules:      cel.NewValidator(s.Structural, true, celconfig.PerCallLimit),
	}, nil
}

// admit goes through the API server's steps in its order. The object is given
// its defaults in place.
func (d *definition) admit(object map[string]any) field.ErrorList {
	defaulting.PruneNonNullableNullsWithoutDefaults(object, d.structural)
	defaulting.Default(object, d.structural)
	errs := validation.ValidateCustomResource(nil, object, d.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, d.structural, object)...)
	if d.rules != nil && len(errs) == 0 {
		var ruleErrs field.ErrorList
		ruleErrs, _ = d.rules.Validate(context.Background(), nil, d.structural, object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, ruleErrs...)
	}
	return errs
}

// unknownFields are refused, as by a server that is asked to be strict, which is what kubectl
// does.
func unknownFields(kind schema.GroupVersionKind, object map[string]any) (field.ErrorList, error) {
	unknown, err := fields.Unknown(kind, object)
	errs := make(field.ErrorList, len(unknown))
	for i, f := range unknown {
		text := "unknown field"
		if f.Belongs != "" {
			text += "; it belongs in " + f.Belongs
		}
		errs[i] = field.Forbidden(field.NewPath(f.Path), text)
	}
	return errs, err
}
