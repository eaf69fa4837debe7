package explain

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
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
	// sources are the rows that may stand in for each other: those of one reservation, or of none.
	sources []bitset.Set
}

func newCatalogue(s *supply.Supply, types []*catalog.Type) *catalogue {
	c := &catalogue{list: types}
	c.types, c.allocatable, c.rows = s.Sold(types)
	c.all, c.unsold = bitset.Full(len(c.rows)), bitset.New(len(c.rows))
	var ids []string
	for i, r := range c.rows {
		if !slices.Contains(ids, r.Offering.Reservation) {
			ids, c.sources = append(ids, r.Offering.Reservation), append(c.sources, bitset.New(len(c.rows)))
		}
		c.sources[slices.Index(ids, r.Offering.Reservation)].Add(i)
		if !r.Offering.Available || s.Offerings.UsedUp(r.Offering) || s.Snap.Refused(r.Offering.Key(c.types[r.Kind].Name)) {
			c.unsold.Add(i)
		}
	}
	return c
}

// kindsIn counts the types of which a set has a row.
func (c *catalogue) kindsIn(rows bitset.Set) int {
	seen := map[int32]bool{}
	for i := range rows.All() {
		seen[c.rows[i].Kind] = true
	}
	return len(seen)
}

// shelf is a pool over the rows of its class.
type shelf struct {
	*supply.Supply
	*supply.Pool
	*catalogue
	ref plan.ObjectRef
	// index is what the rows' machines say about labels as nodes of the pool.
	index *affinity.Index
	// loads are the different sets of DaemonSets that a row may carry, load which
	// of them each row does.
	loads []supply.Overhead
	load  []int32
	// short memoises the rows with too little left for pods, by dimension and amount.
	short map[amount]bitset.Set
	// falling memoises the rows by what they leave of a dimension, those that leave most first.
	falling map[int][]int
	// own are the constraints that the pool brings by itself.
	own []constraint
}

type amount struct {
	dim int
	n   int64
}

func newShelf(s *supply.Supply, p *supply.Pool, c *catalogue) *shelf {
	sh := &shelf{
		Supply: s, Pool: p, catalogue: c, ref: plan.ObjectRef{Kind: "NodePool", Name: p.Name}, short: map[amount]bitset.Set{}, falling: map[int][]int{},
	}
	sh.index = affinity.New(len(sh.rows), requirement.Requirement.Overlaps, sh.label)
	sh.loads, sh.load = s.Overheads(len(sh.rows), func(d *supply.Daemon) bitset.Set {
		if !d.Node.Stays(p.Taints) {
			return bitset.New(len(sh.rows))
		}
		return sh.index.Any(d.Node.Terms)
	})
	sh.own = sh.ownConstraints()
	return sh
}

// label is what a row's machine says about a label as a node of the pool: what the pool
// gives every node, else its type or the way to buy it, whether the pool allows it or
// not, else the pool's requirement.
func (sh *shelf) label(row int, key string) requirement.Requirement {
	if own, ok := sh.Own(key); ok {
		return own
	}
	if value, ok := supply.OfferingLabel(sh.rows[row].Offering, key); ok {
		return requirement.Must(key, requirement.In, value)
	}
	for _, known := range []requirement.Set{sh.types[sh.rows[row].Kind].Requirements, sh.Requirements} {
		if r, ok := known.Lookup(key); ok && r.Possible() {
			return r
		}
	}
	return supply.Undefined(key)
}

// says is what the pool says of a label whatever its machines are.
func (sh *shelf) says(key string) (requirement.Requirement, bool) {
	if own, ok := sh.Own(key); ok {
		return own, true
	}
	return sh.Requirements.Lookup(key)
}

// having are the rows that may have a value as a label. The result is shared.
func (sh *shelf) having(key, value string) bitset.Set {
	return sh.index.One(requirement.Must(key, requirement.In, value))
}

// except are the rows outside a set.
func (sh *shelf) except(rows bitset.Set) bitset.Set {
	out := sh.all.Clone()
	out.AndNot(rows)
	return out
}

// free is what a row leaves for pods of one dimension.
func (sh *shelf) free(row, dim int) int64 {
	return max(0, sh.allocatable[sh.rows[row].Kind][dim]-sh.loads[sh.load[row]].Need[dim])
}

// shortOf are the rows that leave less of a dimension than is needed. The result is
// shared.
func (sh *shelf) shortOf(dim int, need int64) bitset.Set {
	if known, ok := sh.short[amount{dim, need}]; ok {
		return known
	}
	out := bitset.New(len(sh.rows))
	for i := range sh.rows {
		if sh.free(i, dim) < need {
			out.Add(i)
		}
	}
	sh.short[amount{dim, need}] = out
	return out
}

// most is the largest amount that some of the rows leave.
func (sh *shelf) most(dim int, rows bitset.Set) int64 {
	if sh.falling[dim] == nil {
		all := slices.Collect(sh.all.All())
		slices.SortFunc(all, func(a, b int) int { return cmp.Compare(sh.free(b, dim), sh.free(a, dim)) })
		sh.falling[dim] = all
	}
	for _, row := range sh.falling[dim] {
		if rows.Has(row) {
			return sh.free(row, dim)
		}
	}
	return 0
}

// values are those that the machines of some rows may have as a label, in order, as far
// as they can be listed.
func (sh *shelf) values(rows bitset.Set, key string) []string {
	var out []string
	for _, r := range sh.index.Among(rows, key) {
		if r.Finite() {
			out = append(out, r.Values()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// offered lists what the machines of some rows have as a label; empty if nothing.
func (sh *shelf) offered(rows bitset.Set, key string) string {
	if key == corev1.LabelHostname || key == snapshot.NameField {
		return "a name of its own"
	}
	if list := sh.values(rows, key); len(list) > 0 {
		return listed(list)
	}
	for _, r := range sh.index.Among(rows, key) {
		if r.Operator() != requirement.DoesNotExist {
			return r.String()
		}
	}
	if own, said := sh.says(key); said && own.Finite() {
		return listed(own.Values())
	} else if said {
		return own.String()
	}
	return ""
}

// lacking lists what keeps some rows from being sold other than the cloud's capacity, if that is
// so of all of them.
func (sh *shelf) lacking(rows bitset.Set) string {
	var out []string
	for i := range rows.All() {
		lacks := sh.rows[i].Offering.Lacks
		if lacks == "" {
			return ""
		}
		out = append(out, lacks)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "; ")
}

// onSale says where the rows of a set are bought, as "spot in a, b".
func (sh *shelf) onSale(rows bitset.Set) []string {
	var out []string
	for _, how := range sh.values(rows, catalog.CapacityTypeLabel) {
		some := rows.Clone()
		some.And(sh.having(catalog.CapacityTypeLabel, how))
		out = append(out, how+" in "+listed(sh.values(some, corev1.LabelTopologyZone)))
	}
	return out
}
