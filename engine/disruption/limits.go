package disruption

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// needs sums what planned machines take of their pools' limits, by pool.
func needs(list []plan.NewNode) map[string]corev1.ResourceList {
	if len(list) == 0 {
		return nil
	}
	out := map[string]corev1.ResourceList{}
	for i := range list {
		sum := out[list[i].Pool]
		if sum == nil {
			sum = corev1.ResourceList{}
			out[list[i].Pool] = sum
		}
		for name, q := range limit.Largest(&list[i]) {
			have := sum[name]
			have.Add(q)
			sum[name] = have
		}
	}
	return out
}

// reserve keeps room for what commands will launch that have not got so far.
func (u *underway) reserve(standing []*group) {
	for _, g := range standing {
		if g.step != Mark && g.step != Settle {
			continue
		}
		for _, pool := range slices.Sorted(maps.Keys(g.Needs)) {
			u.room.Reserve(pool, g.Needs[pool])
		}
	}
}

// launches reports whether a pool can launch machines now: its replacements have not
// just failed, and its limits leave room for machines as large as it has.
func (c *consolidation) launches(p *snapshot.Pool) bool {
	if _, resting := c.resting(p.Name); resting || p.NotReady != "" || p.Replicas != nil {
		return false
	}
	most := corev1.ResourceList{}
	for _, n := range c.s.Nodes {
		if n.Pool() != p.Name {
			continue
		}
		for name, q := range limit.Size(p, n) {
			if have := most[name]; q.Cmp(have) > 0 {
				most[name] = q
			}
		}
	}
	return c.room.Fits(p.Name, most)
}
