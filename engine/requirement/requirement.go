package requirement

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Operator is how a requirement's values constrain a label. The first six are
// Kubernetes' node-selector operators; Gte and Lte are Karpenter's additions.
type Operator string

const (
	In           = Operator(corev1.NodeSelectorOpIn)
	NotIn        = Operator(corev1.NodeSelectorOpNotIn)
	Exists       = Operator(corev1.NodeSelectorOpExists)
	DoesNotExist = Operator(corev1.NodeSelectorOpDoesNotExist)
	Gt           = Operator(corev1.NodeSelectorOpGt)
	Lt           = Operator(corev1.NodeSelectorOpLt)
	Gte          = Operator("Gte")
	Lte          = Operator("Lte")
)

// Requirement is the set of values that one label may take, and whether it may
// be missing.
//
// The values are either a finite set (In; DoesNotExist has none) or everything
// but a finite set (NotIn, Exists), optionally within inclusive integer bounds
// (Gt, Gte, Lt, Lte). NotIn and DoesNotExist accept a node without the label.
// A Requirement is immutable and safe for concurrent use.
type Requirement struct {
	key       string
	values    []string // sorted, unique: the members, or the exclusions if excludes
	excludes  bool     // values are what is left out
	absent    bool     // a node without the label is accepted
	bounded   bool     // min and max apply; only with excludes
	min, max  int64    // inclusive
	minValues int
}

// New builds a requirement from its written form. Key aliases are normalised
// (see NormalizeKey). It refuses an unknown operator, In without values, and a
// bound that is not exactly one non-negative integer.
func New(key string, op Operator, values ...string) (Requirement, error) {
	r := Requirement{key: NormalizeKey(key)}
	switch op {
	case In:
		if len(values) == 0 {
			return r, fmt.Errorf("key %s: operator In needs at least one value", key)
		}
		r.values = sortedUnique(values)
	case NotIn:
		r.excludes, r.absent, r.values = true, true, sortedUnique(values)
	case Exists:
		r.excludes = true
	case DoesNotExist:
		r.absent = true
	case Gt, Gte, Lt, Lte:
		return newBound(r, op, values)
	default:
		return r, fmt.Errorf("key %s: unknown operator %q", key, op)
	}
	return r, nil
}

// Must is New for requirements written in code; it panics on a bad one.
func Must(key string, op Operator, values ...string) Requirement {
	r, err := New(key, op, values...)
	if err != nil {
		panic(err)
	}
	return r
}

func newBound(r Requirement, op Operator, values []string) (Requirement, error) {
	if len(values) != 1 {
		return r, fmt.Errorf("key %s: operator %s needs exactly one value", r.key, op)
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < 0 {
		return r, fmt.Errorf("key %s: operator %s needs a non-negative integer, not %q", r.key, op, values[0])
	}
	r.excludes, r.bounded, r.min, r.max = true, true, math.MinInt64, math.MaxInt64
	switch op {
	case Gt:
		if n == math.MaxInt64 {
			return Requirement{key: r.key}, nil
		}
		r.min = n + 1
	case Gte:
		r.min = n
	case Lt:
		if n == 0 {
			// A label's value cannot begin with a minus sign.
			return Requirement{key: r.key}, nil
		}
		r.max = n - 1
	case Lte:
		r.max = n
	}
	return r, nil
}

// WithMinValues returns r with a floor on how many distinct values must remain
// available (Karpenter's minValues). Zero means no floor.
func (r Requirement) WithMinValues(n int) Requirement { r.minValues = n; return r }

// Key is the normalised label key.
func (r Requirement) Key() string { return r.key }

// MinValues is the floor set by WithMinValues, zero if none.
func (r Requirement) MinValues() int { return r.minValues }

// Values are the members of a finite set, or the exclusions of a complement,
// sorted. The caller must not modify the slice.
func (r Requirement) Values() []string { return r.values }

// Bounds are the inclusive integer bounds; bounded is false if there are none. A
// side without a bound is the least or the greatest int64.
func (r Requirement) Bounds() (low, high int64, bounded bool) { return r.min, r.max, r.bounded }

// Finite reports whether only the listed values are allowed.
func (r Requirement) Finite() bool { return !r.excludes }

// Possible reports whether any node at all can satisfy r.
func (r Requirement) Possible() bool { return r.excludes || r.absent || len(r.values) > 0 }

// Operator is the shortest operator that describes the values; a bounded
// complement reads as Exists, or NotIn if it has exclusions.
func (r Requirement) Operator() Operator {
	switch {
	case !r.excludes && len(r.values) > 0:
		return In
	case !r.excludes:
		return DoesNotExist
	case len(r.values) > 0 || r.absent:
		return NotIn
	}
	return Exists
}

// Has reports whether the label may take value v.
func (r Requirement) Has(v string) bool {
	_, found := slices.BinarySearch(r.values, v)
	if found == r.excludes {
		return false
	}
	return !r.bounded || r.inBounds(v)
}

func (r Requirement) inBounds(v string) bool {
	n, err := strconv.ParseInt(v, 10, 64)
	return err == nil && r.min <= n && n <= r.max
}

// Absent reports whether a node without the label satisfies r.
func (r Requirement) Absent() bool { return r.absent }

// And is the intersection of both sets; the keys must be equal. The larger
// MinValues wins.
func (r Requirement) And(o Requirement) Requirement {
	out := Requirement{key: r.key, absent: r.absent && o.absent, minValues: max(r.minValues, o.minValues)}
	switch {
	case r.excludes && o.excludes:
		out = andComplements(out, r, o)
	case r.excludes:
		out.values = filter(o.values, r.Has)
	default:
		out.values = filter(r.values, o.Has)
	}
	return out
}

func andComplements(out, r, o Requirement) Requirement {
	out.excludes = true
	out.values = sortedUnique(slices.Concat(r.values, o.values))
	if !r.bounded && !o.bounded {
		return out
	}
	out.bounded, out.min, out.max = true, math.MinInt64, math.MaxInt64
	for _, side := range []Requirement{r, o} {
		if side.bounded {
			out.min, out.max = max(out.min, side.min), min(out.max, side.max)
		}
	}
	if out.min > out.max {
		out.excludes, out.bounded, out.values = false, false, nil
	}
	return out
}

// Overlaps reports whether some node could satisfy both r and o: the sets share
// a value, or both accept a node without the label.
func (r Requirement) Overlaps(o Requirement) bool {
	switch {
	case r.absent && o.absent:
		return true
	case r.excludes && o.excludes:
		return andComplements(Requirement{}, r, o).excludes
	case r.excludes:
		return slices.ContainsFunc(o.values, r.Has)
	default:
		return slices.ContainsFunc(r.values, o.Has)
	}
}

// Implies reports whether every node that satisfies r satisfies o as well.
func (r Requirement) Implies(o Requirement) bool {
	if r.absent && !o.absent {
		return false
	}
	if !r.excludes {
		return !slices.ContainsFunc(r.values, func(v string) bool { return !o.Has(v) })
	}
	if !o.excludes || o.bounded && (!r.bounded || r.min < o.min || r.max > o.max) {
		return false
	}
	return !slices.ContainsFunc(o.values, r.Has)
}

// NodeSelectorRequirements writes r in the API's words, in as many entries as
// it takes: one for most, more for bounds and for exclusions that also demand
// the label. It is the inverse of intersecting New over the entries, except for
// a requirement that is not Possible, which has no written form and yields
// DoesNotExist.
func (r Requirement) NodeSelectorRequirements() []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	add := func(op Operator, values ...string) {
		out = append(out, corev1.NodeSelectorRequirement{Key: r.key, Operator: corev1.NodeSelectorOperator(op), Values: values})
	}
	if !r.excludes {
		add(r.Operator(), slices.Clone(r.values)...)
		return out
	}
	if r.bounded && r.min != math.MinInt64 {
		add(Gte, strconv.FormatInt(r.min, 10))
	}
	if r.bounded && r.max != math.MaxInt64 {
		add(Lte, strconv.FormatInt(r.max, 10))
	}
	if !r.absent && !r.bounded {
		add(Exists)
	}
	if len(r.values) > 0 {
		add(NotIn, slices.Clone(r.values)...)
	}
	return out
}

// Exact is equal for equal requirements and only for them. It is String with all
// values, which that cuts short.
func (r Requirement) Exact() string {
	if len(r.values) <= shownValues {
		return r.String()
	}
	return r.String() + " " + strings.Join(r.values, " ")
}

// shownValues is how many values String prints.
const shownValues = 6

// String reads like "zone In [a b]" or "cpu Gte 4 and cpu Lte 16".
func (r Requirement) String() string {
	if !r.Possible() {
		return r.key + " In [] (contradictory: no value is left)"
	}
	var parts []string
	for _, e := range r.NodeSelectorRequirements() {
		part := e.Key + " " + string(e.Operator)
		if len(e.Values) > 0 {
			part += " " + formatValues(e.Operator, e.Values)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " and ")
}

func formatValues(op corev1.NodeSelectorOperator, values []string) string {
	switch {
	case op == corev1.NodeSelectorOperator(Gte) || op == corev1.NodeSelectorOperator(Lte):
		return values[0]
	case len(values) > shownValues:
		return fmt.Sprintf("[%s and %d more]", strings.Join(values[:shownValues-1], " "), len(values)-shownValues+1)
	}
	return "[" + strings.Join(values, " ") + "]"
}

func sortedUnique(values []string) []string {
	out := slices.Clone(values)
	slices.Sort(out)
	return slices.Compact(out)
}

func filter(values []string, keep func(string) bool) []string {
	var out []string
	for _, v := range values {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}
