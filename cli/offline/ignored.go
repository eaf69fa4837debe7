package offline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Counts is how many objects of each kind were left out, as in "Ingress.networking.k8s.io (2)".
func Counts(ignored map[string]int) string {
	parts := make([]string, 0, len(ignored))
	for _, kind := range slices.Sorted(maps.Keys(ignored)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", kind, ignored[kind]))
	}
	return strings.Join(parts, ", ")
}
