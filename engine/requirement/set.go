package requirement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Set is a conjunction of requirements: at most one per key, sorted by key.
// A key that is not in the set is unconstrained. A Set is immutable: every
// method returns a new one. The nil Set constrains nothing.
type Set []Requirement

// NewSet intersects requirements into a set.
func NewSet(rs ...Requirement) Set {
	var s Set
	for _, r := range rs {
		s = s.With(r)
	}
	return s
}

// FromLabels requires exactly the given labels.
func FromLabels(labels map[string]string) Set {
	s := make(Set, 0, len(labels))
	for k, v := range labels {
		s = append(s, Must(k, In, v))
	}
	slices.SortFunc(s, func(a, b Requirement) int { return strings.Compare(a.key, b.key) })
	return s
}

// FromNodeSelectorTerm reads the matchExpressions of a node-selector term.
func FromNodeSelectorTerm(exprs []corev1.NodeSelectorRequirement) (Set, error) {
	var s Set
	for _, e := range exprs {
		r, err := New(e.Key, Operator(e.Operator), e.Values...)
		if err != nil {
			return nil, err
		}
		s = s.With(r)
	}
	return s, nil
}

// Index finds where the requirement on a key is.
func (s Set) Index(key string) (int, bool) {
	return slices.BinarySearchFunc(s, key, func(r Requirement, k string) int { return strings.Compare(r.key, k) })
}

// Lookup finds the requirement on a key.
func (s Set) Lookup(key string) (Requirement, bool) {
	i, ok := s.Index(key)
	if !ok {
		return Requirement{}, false
	}
	return s[i], true
}

// Get is the requirement on a key, Exists if the set has none.
func (s Set) Get(key string) Requirement {
	if r, ok := s.Lookup(key); ok {
		return r
	}
	return Requirement{key: key, excludes: true}
}

// With is s and one more requirement.
func (s Set) With(r Requirement) Set {
	i, ok := slices.BinarySearchFunc(s, r.key, func(e Requirement, k string) int { return strings.Compare(e.key, k) })
	if !ok {
		return slices.Concat(s[:i], Set{r}, s[i:])
	}
	out := slices.Clone(s)
	out[i] = out[i].And(r)
	return out
}

// Without is s less the requirements on the given keys.
func (s Set) Without(keys ...string) Set {
	return slices.DeleteFunc(slices.Clone(s), func(r Requirement) bool { return slices.Contains(keys, r.key) })
}

// And is the conjunction of both sets.
func (s Set) And(o Set) Set {
	switch {
	case len(o) == 0:
		return s
	case len(s) == 0:
		return o
	}
	out := make(Set, 0, len(s)+len(o))
	for len(s) > 0 && len(o) > 0 {
		switch c := strings.Compare(s[0].key, o[0].key); {
		case c < 0:
			out, s = append(out, s[0]), s[1:]
		case c > 0:
			out, o = append(out, o[0]), o[1:]
		default:
			out, s, o = append(out, s[0].And(o[0])), s[1:], o[1:]
		}
	}
	return append(append(out, s...), o...)
}

// Conflict finds the first key, in order, on which a node described by s cannot
// also satisfy o. A key that s leaves open satisfies o only if o accepts a node
// without the label or open(key) says that the label may still be given any
// value (well-known labels of a machine that does not exist yet). A nil open
// means that nothing is open, as for a node that exists.
func (s Set) Conflict(o Set, open func(key string) bool) (key string, found bool) {
	for _, want := range o {
		have, defined := s.Lookup(want.key)
		if !defined {
			if want.Absent() || open != nil && open(want.key) {
				continue
			}
			return want.key, true
		}
		if !have.Overlaps(want) {
			return want.key, true
		}
	}
	return "", false
}

// HasMinValues reports whether some requirement demands several different values.
func (s Set) HasMinValues() bool {
	return slices.ContainsFunc(s, func(r Requirement) bool { return r.MinValues() > 0 })
}

// Matches reports whether a node with these labels satisfies s.
func (s Set) Matches(labels map[string]string) bool {
	for _, r := range s {
		v, ok := labels[r.key]
		if ok && !r.Has(v) || !ok && !r.Absent() {
			return false
		}
	}
	return true
}

// Exact is equal for equal sets and only for them.
func (s Set) Exact() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = r.Exact()
	}
	return strings.Join(parts, ", ")
}

// String joins the requirements with commas.
func (s Set) String() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = r.String()
	}
	return strings.Join(parts, ", ")
}
