package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/millwright-dev/millwright/engine/plan"
)

// path leads to a value: keys of maps and indices of lists.
type path []any

func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		if i, ok := step.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		fmt.Fprint(&b, step)
	}
	return b.String()
}

// pointer is the path of a JSON pointer (RFC 6901). Numbers stay strings: which of them are
// indices is seen at the value.
func pointer(text string) []string {
	parts := strings.Split(strings.TrimPrefix(text, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts
}

// at is the value that a pointer leads to in an object, nil if there is none.
func at(value any, parts []string) any {
	for _, p := range parts {
		switch v := value.(type) {
		case map[string]any:
			value = v[p]
		case []any:
			var i int
			if _, err := fmt.Sscan(p, &i); err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// steps is a pointer as the path that it is in a value.
func steps(value any, parts []string) path {
	out := make(path, len(parts))
	for i, p := range parts {
		out[i] = p
		if list, ok := value.([]any); ok {
			if n, err := strconv.Atoi(p); err == nil && n < len(list) {
				out[i] = n
			}
		}
		value = at(value, parts[i:i+1])
	}
	return out
}

// alias is what charts call a field that they do not call as Kubernetes does.
var alias = map[string]string{"replicas": "replicaCount"}

// called lists the paths of values that are called like a field, or end so, as
// daemonsetTolerations does: the shortest first, then by their text.
func called(values any, field string) []path {
	var out []path
	named := func(key, name string) bool {
		return name != "" && strings.HasSuffix(strings.ToLower(key), strings.ToLower(name))
	}
	var walk func(v any, p path)
	walk = func(v any, p path) {
		if n := len(p); n > 0 {
			if key, ok := p[n-1].(string); ok && (named(key, field) || named(key, alias[field])) {
				out = append(out, slices.Clone(p))
			}
		}
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key], append(p, key))
			}
		case []any:
			for i := range v {
				walk(v[i], append(p, i))
			}
		}
	}
	walk(values, nil)
	slices.SortStableFunc(out, func(a, b path) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a.String(), b.String()))
	})
	return out
}

// held lists the paths at which values hold an object as it is, as charts' extraObjects do.
func held(values any, ref plan.ObjectRef) []path {
	var out []path
	var walk func(v any, p path)
	walk = func(v any, p path) {
		switch v := v.(type) {
		case map[string]any:
			if metadata, ok := v["metadata"].(map[string]any); ok && v["kind"] == ref.Kind && metadata["name"] == ref.Name {
				out = append(out, slices.Clone(p))
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key], append(p, key))
			}
		case []any:
			for i := range v {
				walk(v[i], append(p, i))
			}
		}
	}
	walk(values, nil)
	return out
}

// get is the value at a path.
func get(values any, p path) any {
	for _, step := range p {
		switch v := values.(type) {
		case map[string]any:
			key, _ := step.(string)
			values = v[key]
		case []any:
			i, ok := step.(int)
			if !ok || i >= len(v) {
				return nil
			}
			values = v[i]
		default:
			return nil
		}
	}
	return values
}

// change is what has to be set for a value to be another. A list is always set as a whole, as
// what reads values replaces lists.
func change(all any, p path, value any) any {
	if len(p) == 0 {
		return value
	}
	switch step := p[0].(type) {
	case int:
		list, _ := all.([]any)
		out := slices.Clone(list)
		if len(p) > 1 {
			value = defined(merge(list[step], change(list[step], p[1:], value)))
		}
		out[step] = value
		return out
	default:
		key, _ := step.(string)
		below, _ := all.(map[string]any)
		return map[string]any{key: change(below[key], p[1:], value)}
	}
}

// merge is a value with another laid over it, map by map. Neither is changed.
func merge(under, over any) any {
	u, ok := under.(map[string]any)
	o, both := over.(map[string]any)
	if !ok || !both {
		return over
	}
	out := maps.Clone(u)
	for key, v := range o {
		out[key] = merge(u[key], v)
	}
	return out
}

// Defined is values without those that are null, which say that a key is to go.
func Defined(values map[string]any) map[string]any {
	out, _ := defined(values).(map[string]any)
	return out
}

func defined(value any) any {
	m, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := make(map[string]any, len(m))
	for key, v := range m {
		if v = defined(v); v != nil {
			out[key] = v
		}
	}
	return out
}

// Merge is values with others laid over them, map by map; lists are replaced. Neither is
// changed, and either may be nil.
func Merge(under, over map[string]any) map[string]any {
	if under == nil {
		under = map[string]any{}
	}
	if over == nil {
		over = map[string]any{}
	}
	out, _ := merge(under, over).(map[string]any)
	return out
}
