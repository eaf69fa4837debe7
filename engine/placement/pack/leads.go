package pack

import (
	"cmp"
	"slices"
)

// chooseLeads finds the models that no other with the same bundles dominates.
func (g *program) chooseLeads() {
	order := make([]int, 0, len(g.by))
	density := make([]float64, len(g.by)*g.s.p.Dims)
	sum := make([]float64, len(g.by))
	for m := range g.by {
		g.stands[m] = m
		if len(g.by[m]) == 0 {
			continue
		}
		order = append(order, m)
		price := max(g.s.p.Models[m].Price, tiny)
		for d, n := range g.s.holdsOf(m) {
			density[m*g.s.p.Dims+d] = float64(n) / price
			sum[m] += float64(n) / price * g.s.scale[d]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(sum[b], sum[a]), len(g.by[b])-len(g.by[a]))
	})
	for _, m := range order {
		mine := density[m*g.s.p.Dims : (m+1)*g.s.p.Dims]
		beaten := slices.IndexFunc(g.leads, func(l int) bool {
			for d, n := range mine {
				if density[l*g.s.p.Dims+d] < n {
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
