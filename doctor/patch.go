package doctor

import (
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/doctor/finding"
)

func step(op, path string, value any) Step { return finding.Op(op, path, value) }

// removals are the steps that remove elements of a list, the last first. They fail if the list
// has changed.
func removals[T any](path string, list []T, indices []int) []Step {
	var out []Step
	for _, i := range slices.Backward(slices.Sorted(slices.Values(indices))) {
		at := fmt.Sprintf("%s/%d", path, i)
		out = append(out, step("test", at, list[i]), Step{Op: "remove", Path: at})
	}
	return out
}
