package fleet

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/millwright-dev/millwright/cloud/kwok"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// general matches the m, c and r families from the fifth generation on: no accelerators, no burst
// credits.
var general = regexp.MustCompile(`^[mcr][5-9]`)

// EC2 is the part of the built-in EC2 catalogue that a plain web or batch
// workload would use: m, c and r families from the fifth generation on, bought on demand.
func EC2() ([]*catalog.Type, error) {
	all, err := kwok.EC2Catalogue()
	if err != nil {
		return nil, fmt.Errorf("reading the EC2 catalogue: %w", err)
	}
	var out []*catalog.Type
	for _, t := range all {
		if general.MatchString(t.Name) {
			out = append(out, onDemand(t))
		}
	}
	return out, nil
}

// onDemand is the type without its spot and reserved offerings.
func onDemand(t *catalog.Type) *catalog.Type {
	out := *t
	out.Requirements = t.Requirements.With(requirement.Must(catalog.CapacityTypeLabel, requirement.In, catalog.OnDemand))
	out.Offerings = slices.DeleteFunc(slices.Clone(t.Offerings), func(o catalog.Offering) bool {
		return o.CapacityType != catalog.OnDemand
	})
	return &out
}
