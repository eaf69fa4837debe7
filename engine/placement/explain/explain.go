package explain

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Explainer answers for the pods that one round of planning leaves. Limits and
// pod topology must not change any more once it is asked. It is not safe for concurrent
// use.
type Explainer struct {
	*supply.Supply
	// shelves are by pool, made when the first pod is asked about.
	shelves []*shelf
	wishes  map[*snapshot.Shape][]wish
	answers map[string][]plan.Reason
	// keys memoises the labels that are set anywhere.
	keys []string
}

// New answers about a supply.
func New(s *supply.Supply) *Explainer {
	return &Explainer{Supply: s, wishes: map[*snapshot.Shape][]wish{}, answers: map[string][]plan.Reason{}}
}

// Reasons are why a pod of a group has no machine: one for each pool, the pool that
// comes nearest first; or what keeps the pod from all of them. Pods for which the
// answer is the same share it.
func (x *Explainer) Reasons(g *demand.Group, p *snapshot.Pod) []plan.Reason {
	refused := g.Shape.Refused
	switch {
	case slices.ContainsFunc(refused, func(r plan.Reason) bool { return r.Code != plan.TopologyNotSatisfiable }):
		return refused
	case len(x.Offerings.Pools) == 0:
		return []plan.Reason{{Code: plan.NoPools}}
	}
	if g.Origin != nil {
		g = g.Origin
	}
	wishes, ok := x.wishes[p.Class.Shape]
	if !ok {
		wishes = wishesOf(p, x.Volumes)
		x.wishes[p.Class.Shape] = wishes
	}
	key := g.Key() + profile(p, wishes)
	for _, r := range refused {
		key += "\n" + r.Want + "\n" + r.Have
	}
	answer, ok := x.answers[key]
	if !ok {
		answer = x.answer(g, wishes, refused)
		x.answers[key] = answer
	}
	return answer
}

func (x *Explainer) answer(g *demand.Group, wishes []wish, refused []plan.Reason) []plan.Reason {
	x.stock()
	out := make([]plan.Reason, 0, len(x.shelves))
	for _, sh := range x.shelves {
		if r, ok := x.reason(sh, g, wishes); ok {
			out = append(out, r)
		}
	}
	if len(out) < len(x.shelves) {
		// Somewhere nothing is wrong with the pod by itself.
		if len(refused) == 0 {
			refused = []plan.Reason{x.RuleOf(g)}
		}
		out = append(out, refused...)
	}
	slices.SortStableFunc(out, plan.Reason.Farther)
	return united(out)
}

// united makes one reason of an inter-pod rule that is all that is wrong, whatever
// the pool.
func united(list []plan.Reason) []plan.Reason {
	for _, r := range list {
		if r.Code != plan.TopologyNotSatisfiable || len(r.With) > 0 || len(r.Objects) > 1 || r.Want != list[0].Want {
			return list
		}
	}
	r := list[0]
	r.Objects, r.Removed, r.Total = nil, 0, 0
	return []plan.Reason{r}
}

// stock makes the shelves.
func (x *Explainer) stock() {
	if x.shelves != nil {
		return
	}
	var catalogues []*catalogue
	for _, p := range x.Offerings.Pools {
		i := slices.IndexFunc(catalogues, func(c *catalogue) bool { return slices.Equal(c.list, p.Types) })
		if i < 0 {
			i, catalogues = len(catalogues), append(catalogues, newCatalogue(x.Supply, p.Types))
		}
		x.shelves = append(x.shelves, newShelf(x.Supply, p, catalogues[i]))
	}
}

// inquiry is what a pool has against a pod: the constraints, and the rows as those
// divide them.
type inquiry struct {
	*shelf
	list  []constraint
	cells []cell
}

// reason is what a pool has against a pod, if it has anything.
func (x *Explainer) reason(sh *shelf, g *demand.Group, wishes []wish) (plan.Reason, bool) {
	if len(sh.rows) == 0 {
		return sh.bare(g, wishes), true
	}
	q := &inquiry{shelf: sh, list: fold(sh.constraints(g, sh.joined(wishes)))}
	q.cells = divide(sh.all, q.list)
	if fit := q.passing(0); !fit.Empty() {
		return q.fewValues(fit)
	}
	r := x.told(q, conflict(q.cells, q.list))
	r.Nearest = q.miss(q.nearest())
	return r, true
}

// bare is the reason of a pool of which the cloud has nothing to sell: what of it excludes the
// pod, whatever there were, else why there is nothing.
func (sh *shelf) bare(g *demand.Group, wishes []wish) plan.Reason {
	r := plan.Reason{Objects: []plan.ObjectRef{sh.ref}}
	if taint, kept := g.Shape.Untolerated(sh.Taints); kept {
		r.Code, r.Field, r.Have = plan.TaintNotTolerated, plan.FieldTolerations, taint.ToString()
		return r
	}
	for i := range wishes {
		if w := &wishes[i]; !slices.ContainsFunc(w.terms, sh.allows) {
			r.Code, r.Field, r.Want, r.Have = plan.RequirementNotMet, w.field, w.text, sh.sample(nil, w.keys())
			return r
		}
	}
	if sh.Closed != nil {
		return *sh.Closed
	}
	r.Code = plan.NoInstanceTypes
	return r
}

// allows reports whether the pool, by what it says of labels itself, may have machines that
// satisfy a term.
func (sh *shelf) allows(term requirement.Set) bool {
	return !slices.ContainsFunc(term, func(want requirement.Requirement) bool {
		own, said := sh.says(want.Key())
		return said && !own.Overlaps(want)
	})
}

// told puts a set of constraints into the plan's words.
func (x *Explainer) told(q *inquiry, set uint64) plan.Reason {
	r := plan.Reason{Objects: []plan.ObjectRef{q.ref}, Total: len(q.types)}
	excluded := true
	for i, is := range members(q.list, set) {
		c := is.of(q.without(set &^ (1 << i)))
		excluded = excluded && is.kind == required
		if r.Hint == "" && is.wish != nil {
			r.Hint = x.meant(q.shelf, is.wish)
		}
		if r.Code != "" {
			r.With = append(r.With, c)
			continue
		}
		r.Code, r.Field, r.Want, r.Have = c.Code, c.Field, c.Want, c.Have
		r.Removed = r.Total - q.kindsIn(q.without(1<<i))
		if c.Object.Kind != "" && c.Object != q.ref {
			r.Objects = append(r.Objects, c.Object)
		}
	}
	if excluded {
		r.Code = plan.NoInstanceTypes
	}
	return r
}

// without are the rows that fail none of a set of constraints.
func (q *inquiry) without(set uint64) bitset.Set {
	out := q.all.Clone()
	for _, c := range members(q.list, set) {
		out.AndNot(c.out)
	}
	return out
}

// passing are the rows that fail nothing but what is forgiven.
func (q *inquiry) passing(forgiven uint64) bitset.Set {
	out := bitset.New(len(q.rows))
	for _, c := range q.cells {
		if c.fails&^forgiven == 0 {
			out.Or(c.rows)
		}
	}
	return out
}
