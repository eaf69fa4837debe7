package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// fewValues is what is left to say where single rows would do: the pool demands
// several different ones (minValues), of which there are too few, or its limits do
// not leave room for the largest of enough of them.
func (q *inquiry) fewValues(fit bitset.Set) (plan.Reason, bool) {
	if q.Offerings.Lenient {
		return plan.Reason{}, false
	}
	few := q.unmet(fit, q.pinned)
	if len(few) == 0 {
		return q.tightLimits(fit)
	}
	r := q.tooFew(few[0])
	set, pinned := q.narrowing()
	for i := range q.list {
		if set>>i&1 == 1 {
			c := q.list[i].Constraint
			c.Have = q.list[i].have(fit)
			r.With = append(r.With, c)
		}
	}
	for _, p := range pinned {
		r.With = append(r.With, p.by)
	}
	r.Nearest = q.miss(near{row: first(fit), few: few})
	return r, true
}

// tightLimits is that limits do not leave each machine of the plan enough
// alternatives.
func (q *inquiry) tightLimits(fit bitset.Set) (plan.Reason, bool) {
	if len(q.Limits) == 0 || len(q.MinValues) == 0 {
		return plan.Reason{}, false
	}
	r := q.tooFew(q.tooFewOf(q.MinValues[0], q.variety(fit, q.MinValues[0], q.pinned)))
	for _, c := range q.limitConstraints() {
		c.Have = c.have(fit)
		r.With = append(r.With, c.Constraint)
	}
	return r, true
}

func (q *inquiry) tooFew(c plan.Constraint) plan.Reason {
	return plan.Reason{Code: c.Code, Objects: []plan.ObjectRef{q.ref}, Field: c.Field, Want: c.Want, Have: c.Have, Total: len(q.types)}
}

func (q *inquiry) tooFewOf(floor requirement.Requirement, n int) plan.Constraint {
	field := plan.FieldRequirements
	if floor.Key() == corev1.LabelInstanceTypeStable && floor.MinValues() == q.Offerings.MinTypes {
		field = plan.FieldMinTypes
	}
	return plan.Constraint{
		Code: plan.MinValuesNotMet, Object: q.ref, Field: field,
		Want: fmt.Sprintf("%d of %s", floor.MinValues(), floor.Key()), Have: fmt.Sprint(n),
	}
}

// unmet are the pool's minValues of which some rows do not have enough.
func (q *inquiry) unmet(rows bitset.Set, pinned []pin) []plan.Constraint {
	var out []plan.Constraint
	for _, floor := range q.MinValues {
		if n := q.variety(rows, floor, pinned); n < floor.MinValues() {
			out = append(out, q.tooFewOf(floor, n))
		}
	}
	return out
}

// variety counts the different values that rows have as a label, after the choices
// that leave the most.
func (q *inquiry) variety(rows bitset.Set, floor requirement.Requirement, pinned []pin) int {
	if len(pinned) == 0 {
		return len(values(q.says(rows, floor.Key())))
	}
	most := 0
	for _, choice := range pinned[0].choices {
		some := rows.Clone()
		some.And(choice)
		most = max(most, q.variety(some, floor, pinned[1:]))
	}
	return most
}

// narrowing are the constraints, and the pins that none of those brings, that
// together leave too few values of the first of the pool's minValues that is not met:
// none can be left out. The pool's own are tried first.
func (q *inquiry) narrowing() (set uint64, free []pin) {
	var floor requirement.Requirement
	for _, floor = range q.MinValues {
		if q.variety(q.passing(0), floor, q.pinned) < floor.MinValues() {
			break
		}
	}
	set, free = ^uint64(0), q.unlisted()
	short := func(set uint64, free []pin) bool {
		return q.variety(q.passing(^set), floor, append(q.brought(set), free...)) < floor.MinValues()
	}
	for i := len(q.list) - 1; i >= 0; i-- {
		if left := set &^ (1 << i); short(left, free) {
			set = left
		}
	}
	for i := len(free) - 1; i >= 0; i-- {
		if left := slices.Delete(slices.Clone(free), i, i+1); short(set, left) {
			free = left
		}
	}
	return set, free
}
