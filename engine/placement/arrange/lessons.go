package arrange

import (
	"maps"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Lessons are what one round of Solve learns for the next about pods that mind
// who is near. Domains are given out before machines are bought, and what is
// bought may upset them: a limit keeps some of the pods out, other pods bring
// nodes into a domain that a spread then compares as well, or land on nodes that
// it does not count. Few plans need a second round.
type Lessons struct {
	// quotas are how many pods of a group may be given a domain, by the group's
	// key.
	quotas map[string]int
	// domains are further ones that a spread compares, by its ID.
	domains map[string]map[string]bool
	// others are the pods, by domain, that a spread selects and counts without
	// being theirs, by its ID.
	others map[string]map[string]int
}

func NewLessons() Lessons {
	return Lessons{quotas: map[string]int{}, domains: map[string]map[string]bool{}, others: map[string]map[string]int{}}
}

// patience is how many rounds look for a balance before those that are out of it
// give up.
const patience = 3

// Learn compares the plan with what was reckoned with, and reports whether
// another round would do better.
func (a *Arranger) Learn(out *plan.Plan, bought []int, l Lessons, round int) bool {
	if a.Company == nil {
		return false
	}
	learned := a.lower(l, round)
	for i, ledger := range a.Company.Ledgers {
		if ledger.PerNode() || ledger.Kind == topology.AntiAffinity || a.owners[i] == nil || a.holds(i, out, bought, l) {
			continue
		}
		learned = true
		// Pods that followed others to where those are not can only stay.
		if ledger.Kind == topology.Affinity || round >= patience {
			for _, key := range a.groups[i] {
				l.quotas[key] = 0
			}
		}
	}
	return learned
}

// lower reduces the quotas of groups of which some pods were given a domain in
// vain, and reports whether there are any.
func (a *Arranger) lower(l Lessons, round int) bool {
	missing := map[string]int{}
	for _, g := range a.Batch.Groups {
		if g.Origin != nil && len(g.Shape.Refused) == 0 {
			missing[g.Origin.Key()] += g.Vain
		}
	}
	lowered := false
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		if missing[key] == 0 {
			continue
		}
		lowered = true
		l.quotas[key] = max(0, a.divided[key]-missing[key])
		if round >= patience {
			l.quotas[key] = 0
		}
	}
	return lowered
}

// outcome is how the pods of a spread stand in the end.
type outcome struct {
	domains          map[string]bool
	selected, others map[string]int
	owners           map[string]int
}

// holds reports whether a rule over domains holds in the plan, and notes what a
// spread did not reckon with if it does not.
func (a *Arranger) holds(rule int, out *plan.Plan, bought []int, lessons Lessons) bool {
	l := a.Company.Ledgers[rule]
	o := a.outcomeOf(rule, out, bought)
	least := 0
	if len(o.domains) >= l.MinDomains {
		least = 1 << 30
		for d := range o.domains {
			least = min(least, o.selected[d])
		}
	}
	holds := true
	for d, n := range o.owners {
		switch {
		case n == 0:
		case l.Kind == topology.Affinity:
			holds = holds && o.selected[d] > 0
		default:
			holds = holds && o.selected[d]-least <= l.MaxSkew
		}
	}
	if !holds && l.Kind == topology.Spread {
		lessons.domains[l.ID], lessons.others[l.ID] = o.domains, o.others
	}
	return holds
}

// outcomeOf adds the pods of the plan to those that run.
func (a *Arranger) outcomeOf(rule int, out *plan.Plan, bought []int) outcome {
	l, c := a.Company.Ledgers[rule], a.Company
	o := outcome{domains: map[string]bool{}, selected: map[string]int{}, others: map[string]int{}, owners: map[string]int{}}
	on := map[*snapshot.Node]string{}
	for i := range a.counted[rule].All() {
		m := a.Machines.List[i]
		d, ok := m.Domain(l.Key)
		if r := m.Says(l.Key); !ok && r.Finite() {
			for _, v := range r.Values() {
				o.domains[v] = true
			}
		}
		if ok {
			o.domains[d], on[m.Node] = true, d
			for _, p := range m.Node.Pods {
				if !p.Terminal() && (p.DeletionTimestamp == nil || l.Kind != topology.Spread) && c.PartOf(p, rule).Selected {
					o.selected[d]++
				}
			}
		}
	}
	for _, x := range out.Placements {
		if d, ok := on[x.Node]; ok {
			o.add(d, c.PartOf(x.Pod, rule))
		}
	}
	for i := range out.NewNodes {
		r := a.Market.Index.Says(bought[i], l.Key)
		if !affinity.Fixed(r) || r.Absent() || !a.comparesWith(rule, l, bought[i]) {
			continue
		}
		o.domains[r.Values()[0]] = true
		for _, p := range out.NewNodes[i].Pods {
			o.add(r.Values()[0], c.PartOf(p, rule))
		}
	}
	return o
}

func (o *outcome) add(domain string, p topology.Part) {
	if p.Selected {
		o.selected[domain]++
	}
	if p.Selected && !p.Owns {
		o.others[domain]++
	}
	if p.Owns {
		o.owners[domain]++
	}
}

// comparesWith reports whether a spread counts the nodes of a launch.
func (a *Arranger) comparesWith(rule int, l *topology.Ledger, launch int) bool {
	owner := a.owners[rule]
	if l.Kind != topology.Spread {
		return true
	}
	if l.HonorTaints {
		if _, kept := taints.Untolerated(a.Market.Pools[a.Market.Launches[launch].Pool].Taints, owner.Tolerations); kept {
			return false
		}
	}
	return l.IgnoreAffinity || slices.ContainsFunc(owner.Terms, func(t requirement.Set) bool { return a.Market.Index.Satisfying(t).Has(launch) })
}
