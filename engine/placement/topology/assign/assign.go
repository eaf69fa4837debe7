package assign

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Assigner assigns pods with inter-pod constraints to topology domains. It is not safe for
// concurrent use.
type Assigner struct {
	*domains
	// allowance is how much more a preferred domain may cost, as a share.
	allowance float64
	cuts      *Cuts
	// waiting are the groups whose turn has not come.
	waiting []*demand.Group
	// slots are the domains of groups that are bound to some.
	slots map[*demand.Group]slot
}

// slot is a cell of a group: the path to it, and how many pods were given it.
type slot struct {
	path string
	pods int
}

// New looks at who is where already. allowance is how much more a domain may cost
// that is chosen for a preference, as a share. cuts are added to.
func New(s *supply.Supply, allowance float64, cuts *Cuts) *Assigner {
	a := &Assigner{
		domains:   &domains{Supply: s, offered: map[offersKey]*offers{}, counted: map[countedBy]bitset.Set{}},
		allowance: allowance, cuts: cuts, slots: map[*demand.Group]slot{},
	}
	a.observe()
	return a
}

// Assign decides, for pods with inter-pod constraints, in which domain each
// goes, and binds them to it: from then on it is a label like any other. Pods for
// which there is no domain are refused.
//
// First come pods that others have kept out before; then those that declare no rule but
// are selected by some, so that the others see where they are; then those with rules of
// their own. Where a group has no domain for its next pod, others go on, until they have made
// room for it, or are there for it to be near. Where all have, units are made smaller.
func (a *Assigner) Assign() {
	if a.PodTopology == nil {
		return
	}
	a.knowDomains()
	var done []*demand.Group
	var turns [3][]*demand.Group
	for _, g := range a.Batch.Groups {
		switch {
		case len(g.Shape.Memberships) == 0 || len(g.Shape.Refused) > 0:
			done = append(done, g)
		case a.cuts.first[g.Key()]:
			turns[0] = append(turns[0], g)
		case !slices.ContainsFunc(g.Shape.Memberships, func(r demand.Membership) bool { return r.Declares || r.Weight > 0 }):
			turns[1] = append(turns[1], g)
		default:
			turns[2] = append(turns[2], g)
		}
	}
	a.waiting = slices.Concat(turns[:]...)
	var all, short []*assignment
	for {
		if slices.ContainsFunc(short, (*assignment).next) {
			continue
		}
		if len(a.waiting) == 0 {
			// Units that have no domain are made smaller, one kind of them at a time.
			i := slices.IndexFunc(short, func(v *assignment) bool { return len(v.rest) > 0 && v.g.Bundle > 1 })
			if i < 0 {
				break
			}
			short[i].split(short[i].rest, plan.Reason{})
			short[i].rest = nil
		}
		g := a.waiting[0]
		a.waiting = a.waiting[1:]
		v := a.begin(g)
		all, short = append(all, v), append(slices.DeleteFunc(short, (*assignment).complete), v)
	}
	for _, v := range all {
		done = append(done, v.groups()...)
	}
	a.Batch.Groups = done
	demand.Sort(a.Batch.Groups)
}
