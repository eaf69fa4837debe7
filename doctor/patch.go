package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/plan"
)

// Patch changes one object: by a JSON patch (RFC 6902), or in its place by one of the two below.
type Patch struct {
	Object plan.ObjectRef
	Steps  []Step
	// Delete says that the object is to go.
	Delete bool
	// Manifest is the object that is to be there, in YAML.
	Manifest string
}

// Step is one operation of a JSON patch.
type Step struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// JSON is the patch's text.
func (p *Patch) JSON() ([]byte, error) { return json.Marshal(p.Steps) }

// Command applies the patch to a cluster. It can be pasted into a POSIX shell.
func (p *Patch) Command() (string, error) {
	switch {
	case p.Manifest != "":
		return "kubectl apply -f - <<'EOF'\n" + p.Manifest + "EOF", nil
	case p.Delete:
		return "kubectl delete " + p.named(), nil
	}
	text, err := p.JSON()
	if err != nil {
		return "", fmt.Errorf("writing the patch of %s: %w", p.Object, err)
	}
	return "kubectl patch " + p.named() + " --type=json -p '" + strings.ReplaceAll(string(text), "'", `'\''`) + "'", nil
}

// named is the object as kubectl's arguments name it.
func (p *Patch) named() string {
	text := strings.ToLower(p.Object.Kind) + " " + p.Object.Name
	if p.Object.Namespace != "" {
		text += " -n " + p.Object.Namespace
	}
	return text
}

// removals are the steps that remove elements of a list, the last first. They fail if the list
// has changed.
func removals[T any](path string, list []T, indices []int) []Step {
	var out []Step
	for _, i := range slices.Backward(slices.Sorted(slices.Values(indices))) {
		at := fmt.Sprintf("%s/%d", path, i)
		out = append(out, Step{"test", at, list[i]}, Step{Op: "remove", Path: at})
	}
	return out
}
