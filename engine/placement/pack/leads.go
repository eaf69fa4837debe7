package pack

import (
	"cmp"
	"slices"
)

// chooseLeads finds the models that no other with the same bundles dominates.
func (g *program) chooseLeads() {
	density := func(m, d int) float64 { return float64(g.s.holdsOf(m)[d]) / max(g.s.p.Models[m].Price, tiny) }
	var order []int
	sum := make([]float64, len(g.by))
	for m := range g.by {
		if g.stands[m] = m; len(g.by[m]) == 0 {
			continue
		}
		order = append(order, m)
		for d, scale := range g.s.scale {
			sum[m] += density(m, d) * scale
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(sum[b], sum[a]), len(g.by[b])-len(g.by[a]))
	})
	for _, m := range order {
		beaten := slices.IndexFunc(g.leads, func(l int) bool {
			for d := range g.s.p.Dims {
				if density(l, d) < density(m, d) {
					return false
				}
			}
			return !slices.ContainsFunc(g.by[m], func(b int) bool {
				_, takes := slices.BinarySearch(g.by[l], b)
				return !takes
			})
		})
		if beaten >= 0 {
			g.stands[m] = g.leads[beaten]
			continue
		}
		g.leads = append(g.leads, m)
	}
	slices.Sort(g.leads)
}
