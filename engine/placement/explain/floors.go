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
	floors := q.unmet(0)
	switch {
	case q.Offerings.Lenient, len(floors) == 0 && (len(q.Limits) == 0 || len(q.MinValues) == 0):
		return plan.Reason{}, false
	case len(floors) == 0: // limits do not leave each machine of the plan enough alternatives
		r := q.demanded(q.tooFew(q.MinValues[0], 0))
		for _, c := range q.limitConstraints() {
			r.With = append(r.With, c.of(fit))
		}
		return r, true
	}
	n := near{row: first(fit)}
	for _, floor := range floors {
		n.few = append(n.few, q.tooFew(floor, 0))
	}
	r := q.demanded(n.few[0])
	// Of the constraints that together leave too few values none can be left out; the pool's own
	// are tried first.
	narrowing := shrink(q.list, func(set uint64) bool { return q.variety(floors[0], ^set) < floors[0].MinValues() })
	for _, c := range members(q.list, narrowing) {
		r.With = append(r.With, c.of(fit))
	}
	r.Nearest = q.miss(n)
	return r, true
}

func (q *inquiry) demanded(c plan.Constraint) plan.Reason {
	return plan.Reason{Code: c.Code, Objects: []plan.ObjectRef{q.ref}, Field: c.Field, Want: c.Want, Have: c.Have, Total: len(q.types)}
}

// tooFew is one of the pool's minValues, and how many values there are.
func (q *inquiry) tooFew(floor requirement.Requirement, forgiven uint64) plan.Constraint {
	field := plan.FieldRequirements
	if floor.Key() == corev1.LabelInstanceTypeStable && floor.MinValues() == q.Offerings.MinTypes {
		field = plan.FieldMinTypes
	}
	return plan.Constraint{
		Code: plan.MinValuesNotMet, Object: q.ref, Field: field,
		Want: fmt.Sprintf("%d of %s", floor.MinValues(), floor.Key()), Have: fmt.Sprint(q.variety(floor, forgiven)),
	}
}

// unmet are the pool's minValues of which there are too few if some constraints are
// forgiven.
func (q *inquiry) unmet(forgiven uint64) []requirement.Requirement {
	return slices.DeleteFunc(slices.Clone(q.MinValues), func(r requirement.Requirement) bool { return q.variety(r, forgiven) >= r.MinValues() })
}

// variety counts the different values that rows of one source have as a label which fail
// nothing but what is forgiven, after the choices that leave the most.
func (q *inquiry) variety(floor requirement.Requirement, forgiven uint64) int {
	var left []bitset.Set
	for _, source := range q.sources {
		some := source.Clone()
		some.And(q.passing(forgiven))
		left = append(left, some)
	}
	for _, c := range members(q.list, ^forgiven) {
		var after []bitset.Set
		for _, rows := range left {
			for _, choice := range c.choices {
				some := rows.Clone()
				some.And(choice)
				after = append(after, some)
			}
		}
		if len(c.choices) > 0 {
			left = after
		}
	}
	most := 0
	for _, rows := range left {
		most = max(most, len(q.values(rows, floor.Key())))
	}
	return most
}
