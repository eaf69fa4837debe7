package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/plan"
)

// Patch changes one object, by a JSON patch (RFC 6902).
type Patch struct {
	Object plan.ObjectRef
	Steps  []Step
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
	text, err := p.JSON()
	if err != nil {
		return "", fmt.Errorf("writing the patch of %s: %w", p.Object, err)
	}
	command := "kubectl patch " + strings.ToLower(p.Object.Kind) + " " + p.Object.Name
	if p.Object.Namespace != "" {
		command += " -n " + p.Object.Namespace
	}
	return command + " --type=json -p '" + strings.ReplaceAll(string(text), "'", `'\''`) + "'", nil
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
