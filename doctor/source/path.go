package source

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/plan"
)

// at is the value to which steps lead in another, nil if there is none.
func at(value any, steps []string) any {
	v, _ := finding.At(value, steps)
	return v
}

// alias is what charts call a field or a kind that they do not call as Kubernetes does.
var alias = map[string]string{"replicas": "replicaCount", "minReplicas": "autoscaleMin", "PodDisruptionBudget": "pdb"}

// called lists the paths of values that are called like a field, or end so, as
// daemonsetTolerations does, and those that a map which is called like the kind would have: the
// shortest first, then by their text.
func called(values any, field, kind string) [][]string {
	var out [][]string
	named := func(key, name string) bool {
		return name != "" && strings.HasSuffix(strings.ToLower(key), strings.ToLower(name))
	}
	var walk func(v any, p []string)
	walk = func(v any, p []string) {
		if n := len(p); n > 0 && (named(p[n-1], field) || named(p[n-1], alias[field])) {
			out = append(out, slices.Clone(p))
		}
		switch v := v.(type) {
		case map[string]any:
			if _, is := v[field]; !is && len(p) > 0 && (named(p[len(p)-1], kind) || named(p[len(p)-1], alias[kind])) {
				out = append(out, append(slices.Clone(p), field))
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key], append(p, key))
			}
		case []any:
			for i := range v {
				walk(v[i], append(p, strconv.Itoa(i)))
			}
		}
	}
	walk(values, nil)
	slices.SortStableFunc(out, func(a, b []string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), slices.Compare(a, b))
	})
	return out
}

// held lists the paths at which values hold an object as it is, as charts' extraObjects do.
func held(values any, ref plan.ObjectRef) [][]string {
	var out [][]string
	var walk func(v any, p []string)
	walk = func(v any, p []string) {
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
				walk(v[i], append(p, strconv.Itoa(i)))
			}
		}
	}
	walk(values, nil)
	return out
}

// change is what has to be set for a value to be another. A list is always set as a whole, as
// what reads values replaces lists.
func change(all any, steps []string, value any) any {
	if len(steps) == 0 {
		return value
	}
	list, _ := all.([]any)
	if i, ok := finding.Index(list, steps[0]); ok {
		out := slices.Clone(list)
		if len(steps) > 1 {
			value = defined(merge(list[i], change(list[i], steps[1:], value)))
		}
		out[i] = value
		return out
	}
	below, _ := all.(map[string]any)
	return map[string]any{steps[0]: change(below[steps[0]], steps[1:], value)}
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
