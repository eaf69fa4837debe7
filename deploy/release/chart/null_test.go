package chart

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Helm takes away what a values file sets to null, or leaves empty. Each value can be done
// without, or the schema asks for it by its name; both Helms say the same.
func TestAValueThatIsTakenAwayIsDoneWithoutOrAskedForByItsName(t *testing.T) {
	c, asked := load(t), 0
	for _, base := range []string{"aws", "everything"} {
		for _, path := range paths(valuesOf(t, filepath.Join(dir, "values.yaml"))) {
			name := base + " without " + strings.Join(path, ".")
			values := valuesOf(t, filepath.Join("testdata", base+".yaml"))
			unset(values, path)
			rendered, err := Render(c, release, values)
			third, err3 := render3(t, values)
			switch {
			case err != nil && err3 != nil:
				asked++
				for _, err := range []error{err, err3} {
					bySchema := "missing property '" + path[len(path)-1] + "'"
					byChart := strings.Join(path, ".") + " is not set: "
					if !strings.Contains(err.Error(), bySchema) && !strings.Contains(err.Error(), byChart) {
						t.Errorf("%s: %v", name, err)
					}
				}
			case err != nil || err3 != nil || !slices.Equal(Documents(rendered), Documents(third)):
				t.Errorf("%s: Helm 4 says %v, Helm 3 %v, or they render differently", name, err, err3)
			}
			for _, doc := range Documents(rendered) {
				object := map[string]any{}
				if err := yaml.UnmarshalStrict([]byte(doc), &object); err != nil || hollow(object) {
					t.Errorf("%s: %v, or a value is null in\n%s", name, err, doc)
				}
			}
		}
	}
	if asked < 20 {
		t.Errorf("only %d values were asked for", asked)
	}
}

// paths are the values that a file has, maps and what is in them.
func paths(values map[string]any) [][]string {
	var out [][]string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, []string{key})
		if within, ok := values[key].(map[string]any); ok {
			for _, path := range paths(within) {
				out = append(out, append([]string{key}, path...))
			}
		}
	}
	return out
}

func unset(values map[string]any, path []string) {
	if len(path) == 1 {
		values[path[0]] = nil
		return
	}
	within, ok := values[path[0]].(map[string]any)
	if !ok {
		within = map[string]any{}
		values[path[0]] = within
	}
	unset(within, path[1:])
}

// hollow reports whether anything in a value is null.
func hollow(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), hollow)
	case []any:
		return slices.ContainsFunc(v, hollow)
	}
	return false
}
