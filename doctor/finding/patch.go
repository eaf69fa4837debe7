package finding

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/plan"
)

// Patch changes one object: by a JSON patch (RFC 6902), or in its place by what is below.
type Patch struct {
	Object plan.ObjectRef
	Steps  []Step
	// Subresource is what of the object the steps are of, such as status; empty for itself.
	Subresource string
	// Delete says that the object is to go.
	Delete bool
	// Manifest is the object that is to be there, in YAML.
	Manifest string
	// Anew says that the steps are of a field that cannot be changed: the object is replaced by
	// the manifest. What it has made, such as a StorageClass its volumes, stays.
	Anew bool
	// Written says that a cluster does not have what the steps change: they are of what the
	// object is made from.
	Written bool
}

// Step is one operation of a JSON patch.
type Step struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Op is a step that has a value.
func Op(op, path string, value any) Step { return Step{Op: op, Path: path, Value: value} }

// Removals are the steps that remove elements of a list, the last first. They fail if the list
// has changed.
func Removals[T any](path string, list []T, indices []int) []Step {
	var out []Step
	for _, i := range slices.Backward(slices.Sorted(slices.Values(indices))) {
		at := fmt.Sprintf("%s/%d", path, i)
		out = append(out, Op("test", at, list[i]), Step{Op: "remove", Path: at})
	}
	return out
}

// Added are the steps that add to a list of so many elements, which may be missing if it has none.
func Added(path string, has int, all []any) []Step {
	if has == 0 && len(all) > 0 {
		return []Step{Op("add", path, all)}
	}
	var out []Step
	for _, v := range all {
		out = append(out, Op("add", path+"/-", v))
	}
	return out
}

// JSON is the patch's text.
func (p *Patch) JSON() ([]byte, error) { return json.Marshal(p.Steps) }

// Command applies the patch to a cluster. It can be pasted into a POSIX shell.
func (p *Patch) Command() (string, error) {
	switch {
	case p.Anew:
		return "kubectl replace --force -f - <<'EOF'\n" + p.Manifest + "EOF", nil
	case p.Manifest != "":
		return "kubectl apply -f - <<'EOF'\n" + p.Manifest + "EOF", nil
	case p.Delete:
		return "kubectl delete " + p.named(), nil
	}
	text, err := p.JSON()
	if err != nil {
		return "", fmt.Errorf("writing the patch of %s: %w", p.Object, err)
	}
	return "kubectl patch " + p.named() + " --type=json -p " + Word(string(text)), nil
}

// named is the object as kubectl's arguments name it.
func (p *Patch) named() string {
	text := strings.ToLower(p.Object.Kind) + " " + Word(p.Object.Name)
	if p.Object.Namespace != "" {
		text += " -n " + Word(p.Object.Namespace)
	}
	if p.Subresource != "" {
		text += " --subresource " + p.Subresource
	}
	return text
}
