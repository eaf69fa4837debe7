package explain

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// pin is a choice that is made once for all alternatives of a pod's machine: a
// domain, where an inter-pod rule goes over a label, or one of several terms.
type pin struct {
	// choices are the rows that each choice leaves.
	choices []bitset.Set
	// by is the constraint that makes the choice necessary.
	by plan.Constraint
}

// pinnedByTopology are the labels over which a pod's own rules go.
func (sh *shelf) pinnedByTopology(s *demand.Shape) []pin {
	var out []pin
	for _, role := range s.Memberships {
		if l := sh.PodTopology.Counts[role.Rule]; role.Declares && !l.PerNode() {
			out = append(out, pin{sh.byValue(l.Key), ofTopology(l, role)})
		}
	}
	return out
}

// byValue are the rows for each value of a label.
func (sh *shelf) byValue(key string) []bitset.Set {
	var out []bitset.Set
	for _, value := range values(sh.says(sh.all, key)) {
		out = append(out, sh.accepting([]requirement.Set{requirement.NewSet(requirement.Must(key, requirement.In, value))}))
	}
	return out
}

// pinnedByTerms are what a pod asks of labels in several ways.
func (sh *shelf) pinnedByTerms(wishes []wish) []pin {
	var out []pin
	for i := range wishes {
		w := &wishes[i]
		if len(w.terms) < 2 {
			continue
		}
		p := pin{by: sh.wished(w).Constraint}
		for t := range w.terms {
			p.choices = append(p.choices, sh.accepting(w.terms[t:t+1]))
		}
		out = append(out, p)
	}
	return out
}

// held are the pins that stay when some constraints are forgiven.
func (q *inquiry) held(forgiven uint64) []pin {
	return slices.DeleteFunc(slices.Clone(q.pinned), func(p pin) bool { return q.brings(forgiven, p) })
}

// brought are the pins that a set of constraints brings, unlisted those that none
// does, because no row fails what they are by.
func (q *inquiry) brought(set uint64) []pin {
	return slices.DeleteFunc(slices.Clone(q.pinned), func(p pin) bool { return !q.brings(set, p) })
}

func (q *inquiry) unlisted() []pin { return q.held(^uint64(0)) }

// brings reports whether a pin is by one of a set of constraints.
func (q *inquiry) brings(set uint64, p pin) bool {
	for i := range q.list {
		if set>>i&1 == 1 && q.list[i].Constraint == p.by {
			return true
		}
	}
	return false
}
