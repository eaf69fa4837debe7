package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/deploy"
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
	if errs := d.admit(object); len(errs) > 0 {
		return nil, errs, nil
	}
	out, err := json.Marshal(object)
	return out, nil, err
}

// definition is a compiled CRD of one version.
type definition struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// definitions are the CRDs by kind; each is compiled on first use.
var definitions = sync.OnceValues(func() (map[schema.GroupVersionKind]func() (*definition, error), error) {
	list, err := deploy.CRDs()
	if err != nil {
		return nil, err
	}
	out := map[schema.GroupVersionKind]func() (*definition, error){}
	for _, file := range list {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(file.YAML, crd); err != nil {
			return nil, fmt.Errorf("reading CRD %s: %w", file.File, err)
		}
		for _, v := range crd.Spec.Versions {
			kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}
			out[kind] = sync.OnceValues(func() (*definition, error) { return compile(v.Schema.OpenAPIV3Schema) })
		}
	}
	return out, nil
})

func compile(published *apiextensionsv1.JSONSchemaProps) (*definition, error) {
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(published, props, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	return &definition{
		structural: structural,
		schema:     validator,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}

// admit goes through the API server's steps in its order. The object is given
// its defaults in place.
func (d *definition) admit(object map[string]any) field.ErrorList {
	if errs := d.unknownFields(object); len(errs) > 0 {
		return errs
	}
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

// belongs says where a field belongs that is not known at its path, if the schema has one
// of that name in exactly one other place; else nothing.
func belongs(s *structuralschema.Structural, path string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	var found []string
	var walk func(s *structuralschema.Structural, at string)
	walk = func(s *structuralschema.Structural, at string) {
		for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
			if key == "status" && at == "" {
				continue
			}
			if key == name {
				found = append(found, at+key)
			}
			property := s.Properties[key]
			walk(&property, at+key+".")
		}
		if s.Items != nil {
			walk(s.Items, strings.TrimSuffix(at, ".")+"[].")
		}
	}
	walk(s, "")
	if len(found) != 1 {
		return ""
	}
	return "; it belongs in " + found[0]
}

// unknownFields are refused, as by a server that is asked to be strict, which
// is what kubectl does.
func (d *definition) unknownFields(object map[string]any) field.ErrorList {
	// Pruning works in place; what it removes from a copy is what is unknown.
	clean := runtime.DeepCopyJSON(object)
	unknown := pruning.PruneWithOptions(clean, d.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	slices.Sort(unknown)
	errs := make(field.ErrorList, len(unknown))
	for i, path := range unknown {
		errs[i] = field.Forbidden(field.NewPath(path), "unknown field"+belongs(d.structural, path))
	}
	return errs
}
