package explain

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// catalogue is what a cloud offers a class: every type, bought in every way, the
// cheapest first. Pools of one class share it.
type catalogue struct {
	// list are the types as pools name them, types the same by name.
	list, types []*catalog.Type
	rows        []supply.Launch
	// allocatable is by type.
	allocatable [][]int64
	all         bitset.Set
	// unsold are the rows that the cloud does not sell at present, or whose
	// reservation the plan has used up.
	unsold bitset.Set
	index  *affinity.Index
	// labelled memoises the rows that have a label.
	labelled map[string]bitset.Set
}

func newCatalogue(s *supply.Supply, types []*catalog.Type) *catalogue {
	c := &catalogue{list: types, labelled: map[string]bitset.Set{}}
	c.types, c.allocatable, c.rows = s.Sold(types)
	c.all, c.unsold = bitset.Full(len(c.rows)), bitset.New(len(c.rows))
	for i, r := range c.rows {
		if !r.Offering.Available || s.Offerings.UsedUp(r.Offering) || s.Snap.Refused(r.Offering.Key(c.types[r.Kind].Name)) {
			c.unsold.Add(i)
		}
	}
	c.index = affinity.New(len(c.rows), false, func(i int, key string) requirement.Requirement {
		if r, ok := c.label(i, key); ok {
			return r
		}
		return supply.Undefined(key)
	})
	return c
}

// label is what a row's type, or the way to buy it, says about a label.
func (c *catalogue) label(i int, key string) (requirement.Requirement, bool) {
	if value, ok := supply.OfferingLabel(c.rows[i].Offering, key); ok {
		return requirement.Must(key, requirement.In, value), true
	}
	return c.types[c.rows[i].Kind].Requirements.Lookup(key)
}

// having are the rows that say something about a label. The result is shared.
func (c *catalogue) having(key string) bitset.Set {
	if known, ok := c.labelled[key]; ok {
		return known
	}
	out := bitset.New(len(c.rows))
	for i := range c.rows {
		if _, ok := c.label(i, key); ok {
			out.Add(i)
		}
	}
	c.labelled[key] = out
	return out
}

// refusing are the rows that say something else about a label than is wanted.
func (c *catalogue) refusing(want requirement.Requirement) bitset.Set {
	out := c.having(want.Key()).Clone()
	out.AndNot(c.index.One(want))
	return out
}

// kindsIn counts the types of which a set has a row.
func (c *catalogue) kindsIn(rows bitset.Set) int {
	seen, n := make([]bool, len(c.types)), 0
	for i := range rows.All() {
		if k := c.rows[i].Kind; !seen[k] {
			seen[k] = true
			n++
		}
	}
	return n
}

// onSale says where the rows of a set are bought, as "spot in a, b".
func (c *catalogue) onSale(rows bitset.Set) []string {
	var out []string
	for _, how := range values(c.index.Among(rows, catalog.CapacityTypeLabel)) {
		some := rows.Clone()
		some.And(c.index.One(requirement.Must(catalog.CapacityTypeLabel, requirement.In, how)))
		out = append(out, how+" in "+listed(values(c.index.Among(some, corev1.LabelTopologyZone))))
	}
	return out
}
