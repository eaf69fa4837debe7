package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// Overlaid says in sentences what is known of a choice by NodeOverlays alone.
func Overlaid(c catalog.Choice) []string {
	var out []string
	if by := c.Offering.PricedBy; by != "" {
		out = append(out, fmt.Sprintf("nodeoverlay/%s sets the price of %s to %s.", by, c.Type.Name, PerHour(c.Offering.Price)))
	}
	for _, resource := range slices.Sorted(maps.Keys(c.Type.AddedBy)) {
		q := c.Type.Capacity[resource]
		out = append(out, fmt.Sprintf("nodeoverlay/%s gives %s %s %s.", c.Type.AddedBy[resource], c.Type.Name, resource, q.String()))
	}
	return out
}

// Contradicted says why a NodeOverlay does not count: because of another one.
func Contradicted(by string) string {
	return fmt.Sprintf("NodeOverlay %s has the same weight and changes prices or capacity of the same instance types", by)
}
