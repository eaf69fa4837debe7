package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Source is what objects are generated from. It is not safe for concurrent use.
type Source struct {
	// Name is what people call it, such as "chart aws-ebs-csi-driver".
	Name string
	// Values are what is set, All those with the defaults below them. All may be nil where
	// nothing can be set.
	Values, All map[string]any
	// Object says that the values are the object itself, so that each of its fields can be set.
	Object bool
	// Render generates the objects from values that are set. An error means that the values are
	// refused.
	Render func(values map[string]any) ([]client.Object, error)
	// Write is the fix that sets values, in the form that people keep them in.
	Write func(change map[string]any) (*doctor.Fix, error)
}

// object is one as JSON has it.
type object = map[string]any

func refOf(o client.Object) plan.ObjectRef {
	return plan.ObjectRef{Kind: doctor.KindOf(o), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// render is what values generate, by object.
func (s *Source) render(values map[string]any) (map[plan.ObjectRef]object, error) {
	objects, err := s.Render(values)
	if err != nil {
		return nil, err
	}
	out := make(map[plan.ObjectRef]object, len(objects))
	for _, o := range objects {
		plain, err := asJSON(o)
		if err != nil {
			return nil, err
		}
		out[refOf(o)] = plain
	}
	return out, nil
}

func asJSON(o any) (object, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("writing an object: %w", err)
	}
	var out object
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	return out, nil
}

// Mend is the change of values that does what a patch of a generated object would: nil if none
// does, or if the object is no longer what was generated. The source stays as it is.
func (s *Source) Mend(p *doctor.Patch) (map[string]any, error) {
	before, err := s.render(s.Values)
	if err != nil {
		return nil, err
	}
	is, ok := before[p.Object]
	if !ok {
		return nil, nil
	}
	wanted, be, err := patched(is, p)
	if errors.Is(err, errOther) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	changes, now := map[string]any{}, before
	var goals []goal
	for _, field := range fields(p) {
		g := goal{field: field, is: at(is, field), set: at(wanted, field), be: at(be, field)}
		goals = append(goals, g)
		if g.reached(at(now[p.Object], field)) {
			continue
		}
		if c, after := s.set(before, changes, p.Object, g); c != nil {
			changes, now = Merge(changes, c), after
		}
	}
	// One may be reached with another, as a budget's default goes where a value is set.
	if slices.ContainsFunc(goals, func(g goal) bool { return !g.reached(at(now[p.Object], g.field)) }) {
		return nil, nil
	}
	return changes, nil
}

// errOther says that a patch is of an object that is no longer what was generated.
var errOther = errors.New("the object has been changed")

// patched is an object with a patch: as it is written, and as it is read.
func patched(o object, p *doctor.Patch) (wanted, be object, err error) {
	text, err := p.JSON()
	if err != nil {
		return nil, nil, fmt.Errorf("writing the patch of %s: %w", p.Object, err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the patch of %s: %w", p.Object, err)
	}
	before, err := json.Marshal(o)
	if err != nil {
		return nil, nil, fmt.Errorf("writing %s: %w", p.Object, err)
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, nil, errOther
	}
	if err := json.Unmarshal(after, &wanted); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", p.Object, err)
	}
	typed, err := doctor.Decode(after, p.Object.Namespace)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", p.Object, err)
	}
	be, err = asJSON(typed)
	return wanted, be, err
}

// fields are those that a patch changes, each once: of an element of a list the list.
func fields(p *doctor.Patch) [][]string {
	var out [][]string
	for _, step := range p.Steps {
		parts := finding.Steps(step.Path)
		last := parts[len(parts)-1]
		if _, err := strconv.Atoi(last); err == nil || last == "-" {
			parts = parts[:len(parts)-1]
		}
		if step.Op != "test" && !slices.ContainsFunc(out, func(f []string) bool { return slices.Equal(f, parts) }) {
			out = append(out, parts)
		}
	}
	return out
}

// set is the change of values that reaches a goal, and what is generated then; nil if none does.
func (s *Source) set(before map[plan.ObjectRef]object, changes map[string]any, ref plan.ObjectRef, g goal) (map[string]any, map[plan.ObjectRef]object) {
	if !s.Object {
		return s.search(before, changes, ref, g)
	}
	all := Merge(s.All, changes)
	c, ok := change(all, g.field, g.set).(map[string]any)
	if !ok {
		return nil, nil
	}
	after, err := s.render(Merge(all, c))
	if err != nil || !g.reached(at(after[ref], g.field)) {
		return nil, nil
	}
	return c, after
}

// search tries the object itself where values hold it, and else the values that are called like
// the field, on top of changes that are decided. It is the change that touches the fewest other
// objects, and what is generated then.
func (s *Source) search(before map[plan.ObjectRef]object, changes map[string]any, ref plan.ObjectRef, g goal) (best map[string]any, then map[plan.ObjectRef]object) {
	fewest := len(before) + 1
	all := Merge(s.All, changes)
	for _, p := range held(all, ref) {
		c, _ := change(all, slices.Concat(p, g.field), g.set).(map[string]any)
		after, err := s.render(Merge(Merge(s.Values, changes), c))
		if err == nil && g.reached(at(after[ref], g.field)) {
			return c, after
		}
	}
	for _, p := range called(all, g.field[len(g.field)-1], ref.Kind) {
		value, ok := g.value(at(all, p))
		if !ok {
			continue
		}
		c, _ := change(all, p, value).(map[string]any)
		after, err := s.render(Merge(Merge(s.Values, changes), c))
		if err != nil || !g.reached(at(after[ref], g.field)) {
			continue
		}
		if n := others(before, after, ref); n < fewest {
			best, then, fewest = c, after, n
		}
		if fewest == 0 {
			break // the shortest path comes first
		}
	}
	return best, then
}

// others counts the objects besides one that have changed, come or gone.
func others(before, after map[plan.ObjectRef]object, ref plan.ObjectRef) int {
	n := 0
	for r := range maps.Keys(before) {
		if r != ref && !reflect.DeepEqual(before[r], after[r]) {
			n++
		}
	}
	for r := range maps.Keys(after) {
		if _, known := before[r]; !known {
			n++
		}
	}
	return n
}

// Plain is values of whatever types as JSON has them: maps, lists, strings, booleans and
// float64s, so that they can be compared.
func Plain(values map[string]any) (map[string]any, error) {
	if values == nil {
		return map[string]any{}, nil
	}
	return asJSON(values)
}
