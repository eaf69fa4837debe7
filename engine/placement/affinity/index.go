// Package affinity is the rule of node labels: which places satisfy a
// nodeSelector or a node-affinity term.
//
// A place is something with labels: a machine that could be launched, or one
// that exists. An [Index] is made for a list of places and answers for all of
// them at once, each distinct requirement once. Labels of a machine that does
// not exist yet may be open (any of several values); a place then satisfies a
// requirement if some value does, and which requirements can hold together on
// one machine is the business of [Cells].
package affinity

import (
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// Index answers which of a fixed list of places satisfy a requirement. It is
// not safe for concurrent use.
type Index struct {
	size      int
	satisfies func(has, want requirement.Requirement) bool
	at        func(place int, key string) requirement.Requirement
	columns   map[string]*column
	answers   map[string]bitset.Set
}

// column is what all places say about one key: the distinct statements, and
// which of them each place makes.
type column struct {
	says []requirement.Requirement
	of   []int32
}

// New makes an index of size places. at tells what a place says about a key: In
// with one value for a label that it has, DoesNotExist for one that it lacks, a
// wider requirement for one that is open. It is called once for each place and
// each key that is asked about. satisfies is Implies where all values of an open label
// have to satisfy, Overlaps where one that does is enough.
func New(size int, satisfies func(has, want requirement.Requirement) bool, at func(place int, key string) requirement.Requirement) *Index {
	return &Index{size: size, satisfies: satisfies, at: at, columns: map[string]*column{}, answers: map[string]bitset.Set{}}
}

// Satisfying are the places that satisfy every requirement of the set. The
// result is the caller's.
func (x *Index) Satisfying(want requirement.Set) bitset.Set {
	out := bitset.Full(x.size)
	for _, r := range want {
		out.And(x.One(r))
	}
	return out
}

// Any are the places that satisfy one of the sets. The result is the caller's.
func (x *Index) Any(terms []requirement.Set) bitset.Set {
	out := bitset.New(x.size)
	for _, term := range terms {
		out.Or(x.Satisfying(term))
	}
	return out
}

// One are the places that satisfy one requirement. The result is shared.
func (x *Index) One(r requirement.Requirement) bitset.Set {
	if !r.Possible() {
		return bitset.New(x.size)
	}
	name := r.Key() + " " + r.Exact()
	if known, ok := x.answers[name]; ok {
		return known
	}
	col := x.column(r.Key())
	verdicts := make([]bool, len(col.says))
	for i, has := range col.says {
		verdicts[i] = x.satisfies(has, r)
	}
	out := bitset.New(x.size)
	for place, statement := range col.of {
		if verdicts[statement] {
			out.Add(place)
		}
	}
	x.answers[name] = out
	return out
}

// Says is what a place says about a key.
func (x *Index) Says(place int, key string) requirement.Requirement {
	col := x.column(key)
	return col.says[col.of[place]]
}

// Open are the different statements about a key that leave it open.
func (x *Index) Open(key string) []requirement.Requirement {
	var out []requirement.Requirement
	for _, r := range x.column(key).says {
		if !Fixed(r) {
			out = append(out, r)
		}
	}
	return out
}

func (x *Index) column(key string) *column {
	if col, ok := x.columns[key]; ok {
		return col
	}
	col := &column{of: make([]int32, x.size)}
	ids := map[statement]int32{}
	for place := range x.size {
		r := x.at(place, key)
		var s statement
		if s.text, s.value = Value(r); !s.value {
			s.text = r.Exact()
		}
		id, ok := ids[s]
		if !ok {
			id = int32(len(col.says))
			ids[s], col.says = id, append(col.says, r)
		}
		col.of[place] = id
	}
	x.columns[key] = col
	return col
}

// statement is what a place says about a key: its value, or what may be.
type statement struct {
	text  string
	value bool
}

// Fixed reports whether a statement leaves nothing open: the label is missing,
// or has one value.
func Fixed(r requirement.Requirement) bool {
	_, certain := Value(r)
	return certain || r.Finite() && len(r.Values()) == 0
}

// Value is the value that a label has, if a statement leaves one only.
func Value(r requirement.Requirement) (value string, certain bool) {
	if !r.Finite() || len(r.Values()) != 1 || r.Absent() {
		return "", false
	}
	return r.Values()[0], true
}

// Among are the different statements about a key that some of the places make,
// in the order of the first place of the index that makes them.
func (x *Index) Among(places bitset.Set, key string) []requirement.Requirement {
	col := x.column(key)
	made := make([]bool, len(col.says))
	for i := range places.All() {
		made[col.of[i]] = true
	}
	var out []requirement.Requirement
	for i, ok := range made {
		if ok {
			out = append(out, col.says[i])
		}
	}
	return out
}
