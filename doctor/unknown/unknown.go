// Package unknown finds fields that objects have and their kinds do not, for package doctor.
package unknown

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/deploy/fields"
	"github.com/millwright-dev/millwright/doctor/finding"
)

// Object is one with fields that its kind does not have, which an API server drops. As JSON it
// has them.
type Object struct {
	client.Object
	kind   string
	fields []fields.Field
	raw    json.RawMessage
	all    map[string]any
}

// MarshalJSON returns the object as it was written.
func (o *Object) MarshalJSON() ([]byte, error) { return o.raw, nil }

// Of is an object, read from JSON, that has such fields; nil if it has none.
func Of(kind schema.GroupVersionKind, o client.Object, raw []byte) (*Object, error) {
	out := &Object{Object: o, kind: kind.Kind, raw: raw}
	if err := json.Unmarshal(raw, &out.all); err != nil {
		return nil, fmt.Errorf("%s: %w", kind.Kind, err)
	}
	var err error
	if out.fields, err = fields.Unknown(kind, out.all); err != nil || len(out.fields) == 0 {
		return nil, err
	}
	return out, nil
}

// Fields are those that set nothing: the API server drops them, as of a chart or an apply that is
// not strict.
func Fields(objects []*Object) []finding.Finding {
	var out []finding.Finding
	for _, o := range objects {
		ref := finding.RefOf(o.kind, o)
		for _, u := range o.fields {
			f := finding.Finding{
				Severity: finding.Error, Object: ref, Field: u.Path,
				Message: fmt.Sprintf("is no field of %s: the API server drops it, so that it sets nothing", o.kind),
				Advice:  "take it out",
			}
			if u.Belongs != "" {
				f.Message += "; it belongs in " + u.Belongs
				f.Advice = "move it to " + u.Belongs
			}
			if steps := moved(o.all, u); steps != nil {
				f.Patch = &finding.Patch{Object: ref, Steps: steps, Written: true}
			}
			out = append(out, f)
		}
	}
	return out
}

// moved are the steps that put a field where it belongs, if nothing is there yet, or take it out;
// nil if its path cannot be followed.
func moved(object map[string]any, u fields.Field) []finding.Step {
	at := decode.Steps(u.Path)
	value, ok := finding.At(object, at)
	if !ok {
		return nil
	}
	steps := []finding.Step{{Op: "remove", Path: finding.Pointer(at...)}}
	if u.Belongs == "" || strings.Contains(u.Belongs, "[") {
		return steps
	}
	to := decode.Steps(u.Belongs)
	_, taken := finding.At(object, to)
	if _, room := finding.At(object, to[:len(to)-1]); room && !taken {
		steps = append(steps, finding.Op("add", finding.Pointer(to...), value))
	}
	return steps
}
