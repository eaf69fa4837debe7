package offline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// missed are kinds of Karpenter's that change what it launches, by Kind.group, and what a plan
// lacks without them.
var missed = map[string]string{
	"CapacityBuffer.autoscaling.x-k8s.io": "no room is kept for what it reserves",
}

// Counts is how many objects of each kind were left out, as in "Ingress.networking.k8s.io (2)".
func Counts(ignored map[string]int) string {
	parts := make([]string, 0, len(ignored))
	for _, kind := range slices.Sorted(maps.Keys(ignored)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", kind, ignored[kind]))
	}
	return strings.Join(parts, ", ")
}

// Missed says of the kinds that were left out, by Kind.group, which of them would change a
// plan of Karpenter's.
func Missed(ignored map[string]int) []string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(ignored)) {
		if lack := missed[kind]; lack != "" {
			out = append(out, kind+" has no effect here: "+lack)
		}
	}
	return out
}
