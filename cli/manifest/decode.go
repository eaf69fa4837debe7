package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/cli/admission"
	"github.com/millwright-dev/millwright/cluster/decode"
)

// decoded is what came of one document.
type decoded struct {
	objects []Object
	refused []metav1.Status
	// ignored are the kinds that were left out, as Kind.group.
	ignored []string
	errs    Errors
	// syntax is set when the text itself could not be read.
	syntax bool
}

func (d document) decode() decoded {
	raw, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return decoded{errs: Errors{d.syntaxError(err)}, syntax: true}
	}
	var out decoded
	var kind schema.GroupVersionKind
	if d.item != nil {
		kind = d.item.kind
	}
	d.decodeObject(raw, kind, "", &out)
	return out
}

// head is what is read of an object before its kind is known.
type head struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name        string          `json:"name"`
		Namespace   string          `json:"namespace"`
		UID         any             `json:"uid"`
		Annotations json.RawMessage `json:"annotations"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// elsewhere reports whether an object of a chart is a hook that no install makes, such as a test.
// One that a cluster has is there all the same.
func (h head) elsewhere() bool {
	var annotations map[string]any
	_ = json.Unmarshal(h.Metadata.Annotations, &annotations) // those of another type are refused later
	hook, _ := annotations["helm.sh/hook"].(string)
	return hook != "" && !strings.Contains(hook, "install") && h.Metadata.UID == nil
}

// kustomizations are the names of the files that Kustomize builds objects from; it asks for no
// kind in them.
var kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// decodeObject decodes one object, or the items of a list. The default kind is
// that of an item in a typed list, whose items do not repeat it. The path is
// that of the object in the document's text.
func (d document) decodeObject(raw []byte, kind schema.GroupVersionKind, path string, out *decoded) {
	var h head
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &h); err != nil {
		where, why := decode.Locate(raw, reflect.TypeFor[head](), "")
		out.errs = append(out.errs, d.fieldError("", path, where, fmt.Sprintf("not a Kubernetes object: %v", why)))
		return
	}
	if h.Kind != "" || h.APIVersion != "" || kind.Empty() {
		kind = schema.FromAPIVersionAndKind(h.APIVersion, h.Kind)
	}
	switch {
	case kind.Group == "kustomize.config.k8s.io" || kind.Kind == "" && slices.Contains(kustomizations, filepath.Base(d.file)):
		out.errs = append(out.errs, d.fieldError("", path, "", fmt.Sprintf("no object but how to build some: give what 'kubectl kustomize %s' prints, with -f -", filepath.Dir(d.file))))
	case kind.Kind == "":
		out.errs = append(out.errs, d.fieldError("", path, "kind", "missing; every object needs apiVersion and kind"))
	case kind.Version == "":
		out.errs = append(out.errs, d.fieldError(h.Kind, path, "apiVersion", "missing; every object needs apiVersion and kind"))
	case isList(kind.Kind) && h.Items != nil:
		for i, item := range h.Items {
			d.decodeObject(item, itemKind(h.TypeMeta), fmt.Sprintf("%s.items[%d]", path, i), out)
		}
	case kind.Group == "" && kind.Kind == "Status":
		var refused metav1.Status
		if err := json.Unmarshal(raw, &refused); err != nil {
			out.errs = append(out.errs, d.fieldError(kind.Kind, path, "", err.Error()))
			return
		}
		out.refused = append(out.refused, refused)
	default:
		d.decodeOne(raw, kind, h, path, out)
	}
}

func (d document) decodeOne(raw []byte, gvk schema.GroupVersionKind, h head, path string, out *decoded) {
	if h.elsewhere() {
		out.ignored = append(out.ignored, "hook of a chart")
		return
	}
	k, known := kinds[gvk.GroupKind()]
	if gvk.GroupVersion() == autoscalingv1.SchemeGroupVersion {
		known = false // an API server takes both versions
	}
	if !known {
		if meant := meantBy(gvk); meant != "" {
			out.errs = append(out.errs, d.fieldError(gvk.Kind+" "+h.Metadata.Name, path, "kind", fmt.Sprintf("%s has no kind %q; did you mean %s?", gvk.GroupVersion(), gvk.Kind, meant)))
			return
		}
		out.ignored = append(out.ignored, gvk.GroupKind().String())
		return
	}
	name := gvk.Kind + " " + h.Metadata.Name
	if h.Metadata.Namespace != "" {
		name = gvk.Kind + " " + h.Metadata.Namespace + "/" + h.Metadata.Name
	}
	fail := func(where, message string) {
		out.errs = append(out.errs, d.fieldError(name, path, where, message))
	}
	if gvk.Version != k.version {
		want := schema.GroupVersion{Group: gvk.Group, Version: k.version}
		fail("apiVersion", fmt.Sprintf("%s is not read; write %s", gvk.GroupVersion(), want))
		return
	}
	if problems := badName(gvk.Kind, h.Metadata.Name); problems != "" && (k.how != nameless || h.Metadata.Name != "") {
		fail("metadata.name", problems)
		return
	}
	if problems := strings.Join(validation.IsDNS1123Label(h.Metadata.Namespace), "; "); problems != "" && k.namespaced && h.Metadata.Namespace != "" {
		fail("metadata.namespace", problems)
		return
	}
	if k.how == examined || k.how == nameless {
		out.ignored = append(out.ignored, gvk.GroupKind().String())
	}
	if k.how == custom || k.how == nodeClass {
		var ok bool
		if raw, ok = admit(gvk, raw, fail); !ok {
			return
		}
	}
	obj := k.make()
	if err := decodeInto(raw, gvk, obj, fail); err != nil {
		return
	}
	if k.namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace(metav1.NamespaceDefault)
	}
	if k.how == nameless && h.Metadata.Name == "" {
		obj.SetName(nameOf(d.file))
	}
	line := d.line
	if path != "" {
		line += lineOf(d.text, path)
	}
	out.objects = append(out.objects, Object{Object: obj, Kind: gvk.Kind, NodeClass: k.how == nodeClass, File: d.file, Line: line, text: d.text, start: d.line, path: path})
}

// nameOf is a name for what a file holds that has none.
func nameOf(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}

func badName(kind, name string) string {
	switch {
	case name == "":
		return "missing; every object needs a name"
	case kind == "APIService": // v1. is that of the core group
		return strings.Join(content.IsPathSegmentName(name), "; ")
	}
	return strings.Join(validation.IsDNS1123Subdomain(name), "; ")
}

// admit gives a custom resource its defaults and checks it, reporting what is
// wrong.
func admit(gvk schema.GroupVersionKind, raw []byte, fail func(where, message string)) ([]byte, bool) {
	out, problems, err := admission.CustomResource(gvk, raw)
	if err != nil {
		fail("", err.Error())
		return nil, false
	}
	// Validation walks through maps: its order is another one in every run.
	slices.SortStableFunc(problems, func(a, b *field.Error) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.ErrorBody(), b.ErrorBody()))
	})
	for _, p := range problems {
		fail(p.Field, problemText(p))
	}
	return out, len(problems) == 0
}

func problemText(p *field.Error) string {
	if p.Type == field.ErrorTypeForbidden {
		return p.Detail
	}
	return p.ErrorBody()
}

var errReported = errors.New("reported")

// decodeInto decodes strictly; what controllers write, the status, may have
// fields that this version of the types does not know.
func decodeInto(raw []byte, gvk schema.GroupVersionKind, obj any, fail func(where, message string)) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return kjson.UnmarshalCaseSensitivePreserveInts(raw, &u.Object)
	}
	unknown, err := kjson.UnmarshalStrict(raw, obj)
	if err != nil {
		where, why := decode.Locate(raw, reflect.TypeOf(obj).Elem(), "")
		fail(where, why.Error())
		return errReported
	}
	for _, u := range unknown {
		where, message := decode.Unknown(u)
		if strings.HasPrefix(where, "status.") {
			continue
		}
		fail(where, message)
		err = errReported
	}
	return err
}

// fieldError reports a field of the object that stands at a path of the text.
func (d document) fieldError(object, path, where, message string) *Error {
	full := strings.Trim(path+"."+where, ".")
	return &Error{File: d.file, Line: d.line + lineOf(d.text, full), Object: object, Field: where, Message: message}
}

var yamlLine = regexp.MustCompile(`line (\d+): ?`)

// syntaxError turns the parser's message, which counts lines from the text's
// first, into one that counts from the file's.
func (d document) syntaxError(err error) *Error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimSpace(strings.TrimPrefix(text, "unmarshal errors:"))
	line := d.line
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			line += n - 1
		}
		text = strings.Replace(text, m[0], "", 1)
	}
	first, _, _ := strings.Cut(text, "\n")
	return &Error{File: d.file, Line: line, Message: "malformed YAML: " + first}
}
