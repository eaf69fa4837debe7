// Package fields knows the fields of the kinds that are defined by CRDs.
package fields

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/deploy"
)

// Field is one that an object has and its kind does not.
type Field struct {
	// Path is where the object has it, such as spec.disruption.terminationGracePeriod.
	Path string
	// Belongs is the only other path at which the kind has a field of that name; empty if there
	// is none, or more than one. Elements of lists are written [].
	Belongs string
}

// Unknown are the fields of an object, in order of their paths, that its kind does not have. Of
// kinds that no CRD defines nothing is known. The object is left as it is. It is safe for
// concurrent use.
func Unknown(kind schema.GroupVersionKind, object map[string]any) ([]Field, error) {
	byKind, err := Definitions()
	if err != nil {
		return nil, err
	}
	read, ok := byKind[kind]
	if !ok {
		return nil, nil
	}
	s, err := read()
	if err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", kind.Kind, err)
	}
	// Pruning works in place; what it removes from a copy is what is unknown.
	clean := runtime.DeepCopyJSON(object)
	paths := pruning.PruneWithOptions(clean, s.Structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	slices.Sort(paths)
	var out []Field
	for _, path := range paths {
		out = append(out, Field{Path: path, Belongs: belongs(s.Structural, path)})
	}
	return out, nil
}

// Schema is that of a kind, as it is published and in the API server's form.
type Schema struct {
	Props      *apiextensions.JSONSchemaProps
	Structural *structuralschema.Structural
}

// Definitions are the schemas of the CRDs by kind; each is read on first use. They are shared and
// must not be changed.
var Definitions = sync.OnceValues(func() (map[schema.GroupVersionKind]func() (*Schema, error), error) {
	list, err := deploy.CRDs()
	if err != nil {
		return nil, err
	}
	out := map[schema.GroupVersionKind]func() (*Schema, error){}
	for _, file := range list {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(file.YAML, crd); err != nil {
			return nil, fmt.Errorf("reading CRD %s: %w", file.File, err)
		}
		for _, v := range crd.Spec.Versions {
			kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}
			out[kind] = sync.OnceValues(func() (*Schema, error) { return read(v.Schema.OpenAPIV3Schema) })
		}
	}
	return out, nil
})

func read(published *apiextensionsv1.JSONSchemaProps) (*Schema, error) {
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(published, props, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(props)
	return &Schema{props, structural}, err
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
	return found[0]
}
