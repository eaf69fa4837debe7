package explain

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// shelf is a pool over the rows of its class.
type shelf struct {
	*supply.Supply
	*supply.Pool
	*catalogue
	ref plan.ObjectRef
	// loads are the different sets of DaemonSets that a row may carry, load which
	// of them each row does.
	loads []supply.Overhead
	load  []int32
	// free memoises what is left for pods, by dimension and row; short the rows
	// with too little, by dimension and amount.
	free  map[int][]int64
	short map[amount]bitset.Set
	// own are the constraints that the pool brings by itself.
	own []constraint
}

type amount struct {
	dim int
	n   int64
}

func newShelf(s *supply.Supply, p *supply.Pool, c *catalogue) *shelf {
	sh := &shelf{
		Supply: s, Pool: p, catalogue: c, ref: plan.ObjectRef{Kind: "NodePool", Name: p.Name},
		free: map[int][]int64{}, short: map[amount]bitset.Set{},
	}
	sh.loads, sh.load = s.Overheads(len(sh.rows), func(d *supply.Daemon) bitset.Set {
		if !d.Tolerates(p.Taints) {
			return bitset.New(len(sh.rows))
		}
		return sh.accepting(d.Terms())
	})
	sh.own = sh.ownConstraints()
	return sh
}

// accepting are the rows that satisfy one of the terms.
func (sh *shelf) accepting(terms []requirement.Set) bitset.Set {
	out := bitset.New(len(sh.rows))
	for _, term := range terms {
		rows := sh.all.Clone()
		for _, want := range term {
			rows.AndNot(sh.refusingAs(want))
		}
		out.Or(rows)
	}
	return out
}

// refusingAs are the rows whose machines, as nodes of the pool, do not satisfy a
// requirement.
func (sh *shelf) refusingAs(want requirement.Requirement) bitset.Set {
	key := want.Key()
	if own, ok := sh.Own(key); ok {
		if own.Overlaps(want) {
			return bitset.New(len(sh.rows))
		}
		return sh.all.Clone()
	}
	out := sh.refusing(want)
	if says := otherwise(sh.Pool, key); !says.Overlaps(want) {
		rest := sh.all.Clone()
		rest.AndNot(sh.having(key))
		out.Or(rest)
	}
	return out
}

// otherwise is what nodes of the pool say about a label of which their type and
// the way to buy it say nothing.
func otherwise(p *supply.Pool, key string) requirement.Requirement {
	if r, ok := p.Requirements.Lookup(key); ok {
		return r
	}
	return supply.Undefined(key)
}

// open reports whether nodes of the pool may have one of several values of a label.
func (sh *shelf) open(key string) bool {
	return slices.ContainsFunc(sh.says(sh.all, key), func(r requirement.Requirement) bool { return !affinity.Fixed(r) })
}

// says are the different things that the machines of some rows say about a label.
func (sh *shelf) says(rows bitset.Set, key string) []requirement.Requirement {
	if own, ok := sh.Own(key); ok {
		return []requirement.Requirement{own}
	}
	with := rows.Clone()
	with.And(sh.having(key))
	out := sh.index.Among(with, key)
	if with.Len() < rows.Len() {
		out = append(out, otherwise(sh.Pool, key))
	}
	return out
}

// freeOf is what the rows leave for pods of one dimension.
func (sh *shelf) freeOf(dim int) []int64 {
	if known, ok := sh.free[dim]; ok {
		return known
	}
	out := make([]int64, len(sh.rows))
	for i, r := range sh.rows {
		out[i] = max(0, sh.allocatable[r.Kind][dim]-sh.loads[sh.load[i]].Need[dim])
	}
	sh.free[dim] = out
	return out
}

// shortOf are the rows that leave less of a dimension than is needed. The result is
// shared.
func (sh *shelf) shortOf(dim int, need int64) bitset.Set {
	if known, ok := sh.short[amount{dim, need}]; ok {
		return known
	}
	out := bitset.New(len(sh.rows))
	for i, n := range sh.freeOf(dim) {
		if n < need {
			out.Add(i)
		}
	}
	sh.short[amount{dim, need}] = out
	return out
}

// most is the largest amount that some of the rows leave.
func (sh *shelf) most(dim int, rows bitset.Set) int64 {
	free, out := sh.freeOf(dim), int64(0)
	for i := range rows.All() {
		out = max(out, free[i])
	}
	return out
}

// offered lists what the machines of some rows have as a label; empty if nothing.
func (sh *shelf) offered(rows bitset.Set, key string) string {
	if key == corev1.LabelHostname || key == snapshot.NameField {
		return "a name of its own"
	}
	said := sh.says(rows, key)
	if list := values(said); len(list) > 0 {
		return listed(list)
	}
	for _, r := range said {
		if r.Operator() != requirement.DoesNotExist {
			return r.String()
		}
	}
	return ""
}

// values are those of finite requirements, in order.
func values(rs []requirement.Requirement) []string {
	var out []string
	for _, r := range rs {
		if r.Finite() {
			out = append(out, r.Values()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
