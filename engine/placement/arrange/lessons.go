package arrange

import (
	"maps"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Lessons are what one round of Solve learns for the next about pods that mind
// who is near. Domains are given out before machines are bought, and what is
// bought may upset them: a limit keeps some of the pods out, other pods take the
// room, bring nodes into a domain that a spread then compares as well, or land on
// nodes that it does not count. Few plans need a second round.
type Lessons struct {
	// rooms are how many pods of a group found a place in a domain where there were
	// too few, by the path to it.
	rooms map[string]int
	// quotas are how many pods of a group may be given a domain, by the group's
	// key.
	quotas map[string]int
	// domains are further ones that a spread compares, by its ID.
	domains map[string]map[string]bool
	// others are the pods, by domain, that a spread selects and counts without
	// being theirs, by its ID.
	others map[string]map[string]int
	// first are the groups that are given domains before all others that have a choice, by
	// their keys.
	first map[string]bool
	// ahead are those that come even before groups without a choice.
	ahead map[string]bool
}

// Order moves groups, which are told by their keys, before others.
type Order struct {
	// First are given domains before all others that have a choice.
	First []string
	// Ahead come before all others, in domains and on machines.
	Ahead []string
}

// NewLessons are those of the first round, with groups in some order.
func NewLessons(orders ...Order) Lessons {
	l := Lessons{
		rooms: map[string]int{}, quotas: map[string]int{}, domains: map[string]map[string]bool{}, others: map[string]map[string]int{},
		first: map[string]bool{}, ahead: map[string]bool{},
	}
	for _, o := range orders {
		for _, key := range o.First {
			l.first[key] = true
		}
		for _, key := range o.Ahead {
			l.ahead[key] = true
		}
	}
	return l
}

// Ahead reports whether a group comes before all others.
func (l Lessons) Ahead(g *demand.Group) bool { return g.Origin != nil && l.ahead[g.Origin.Key()] }

// patience is how many rounds look for other domains for pods that found no
// machine in theirs, and then again for a balance without those; after that, groups
// that are out of it give up.
const patience = 3

// Learn compares the plan with what was reckoned with, and reports whether
// another round would do better.
func (a *Arranger) Learn(out *plan.Plan, bought []int, l Lessons, round int) bool {
	if a.Company == nil {
		return false
	}
	outcomes := a.outcomes(out, bought)
	for ; ; round += patience {
		before := l.clone()
		// Where nothing is new another round would come to the same: patience is in vain.
		if learned := a.learn(outcomes, l, round); !learned || round >= 2*patience || !l.equal(before) {
			return learned
		}
	}
}

// learn is what Learn does in one round.
func (a *Arranger) learn(outcomes []*outcome, l Lessons, round int) bool {
	learned := a.lower(l, round)
	missed := learned
	for i, ledger := range a.Company.Ledgers {
		if outcomes[i] == nil || outcomes[i].holds(ledger, l) {
			continue
		}
		learned = true
		// Pods that followed others to where those are not can only stay.
		if ledger.Kind == topology.Affinity && (!missed || round >= patience) || round >= 2*patience {
			for _, key := range a.groups[i] {
				l.quotas[key] = 0
			}
		}
	}
	return learned
}

// clone is a copy of what rounds add to.
func (l Lessons) clone() Lessons {
	return Lessons{rooms: maps.Clone(l.rooms), quotas: maps.Clone(l.quotas), domains: maps.Clone(l.domains), others: maps.Clone(l.others)}
}

// equal reports whether rounds have added nothing.
func (l Lessons) equal(o Lessons) bool {
	return maps.Equal(l.rooms, o.rooms) && maps.Equal(l.quotas, o.quotas) &&
		maps.EqualFunc(l.domains, o.domains, maps.Equal) && maps.EqualFunc(l.others, o.others, maps.Equal)
}

// lower notes where pods were given a domain in vain, and reports whether there
// are any.
func (a *Arranger) lower(l Lessons, round int) bool {
	missing := map[string]int{}
	for _, g := range a.Batch.Groups {
		if g.Origin == nil || len(g.Shape.Refused) > 0 || g.Vain == 0 {
			continue
		}
		missing[g.Origin.Key()] += g.Vain
		if s, ok := a.seats[g]; ok {
			l.rooms[s.path] = s.pods - g.Vain
		}
	}
	if round < patience {
		return len(missing) > 0
	}
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		l.quotas[key] = max(0, a.divided[key]-missing[key])
		if round >= 2*patience {
			l.quotas[key] = 0
		}
	}
	return len(missing) > 0
}
