package supply

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// Verdicts are what the pools have against a group, those of pools that have
// something.
func (s *Supply) Verdicts(g *demand.Group) []plan.Reason {
	out := make([]plan.Reason, 0, len(s.Market.Pools))
	for _, p := range s.Market.Pools {
		if r := s.verdict(g, p); r.Code != "" {
			out = append(out, r)
		}
	}
	return out
}

// RuleOf is the rule of company that stands in a group's way: the first that it
// owns, or owned before it was bound to a domain, else one of others'.
func (s *Supply) RuleOf(g *demand.Group) plan.Reason {
	roles := slices.Clone(g.Shape.Roles)
	if g.Shape.Base != nil {
		roles = append(roles, g.Shape.Base.Roles...)
	}
	slices.SortStableFunc(roles, func(x, y demand.Role) int { return -compareBool(x.Owns, y.Owns) })
	if len(roles) > 0 {
		return demand.Unsatisfiable(s.Company.Ledgers[roles[0].Rule])
	}
	return plan.Reason{Code: plan.TopologyNotSatisfiable, Want: "what the pod needs beside the others", Have: "they leave no room"}
}

// verdict finds the constraint that removed the last of a pool's types.
func (s *Supply) verdict(g *demand.Group, p *Pool) plan.Reason {
	reason := plan.Reason{Objects: p.refs(), Total: len(p.Types)}
	switch {
	case p.closed != nil:
		return *p.closed
	case p.Lo == p.Hi:
		return s.Market.noTypes(p)
	}
	if taint, kept := taints.Untolerated(p.Taints, g.Shape.Tolerations); kept {
		reason.Code, reason.Have, reason.Removed = plan.TaintNotTolerated, taint.ToString(), reason.Total
		return reason
	}
	best := plan.Reason{}
	for i, term := range g.Shape.Terms {
		r := s.termVerdict(g, p, term, reason)
		// Of several alternatives the one that came farthest is told.
		if i == 0 || progress(r.Code) > progress(best.Code) {
			best = r
		}
	}
	return best
}

// progress orders codes by how late in the row of constraints they come.
func progress(c plan.Code) int {
	return slices.Index([]plan.Code{
		plan.RequirementNotMet, plan.InsufficientResources, plan.HostPortTaken,
		plan.OfferingUnavailable, plan.LimitExceeded, plan.MinValuesNotMet,
	}, c)
}

// termVerdict applies constraint after constraint until no launch is left.
func (s *Supply) termVerdict(g *demand.Group, p *Pool, term requirement.Set, r plan.Reason) plan.Reason {
	m := s.Market
	left := bitset.New(len(m.Launches))
	left.AddRange(p.Lo, p.Hi)
	for _, want := range term {
		before := left.Clone()
		left.And(m.Index.One(want))
		if left.Empty() {
			r.Code, r.Want, r.Have, r.Removed = plan.RequirementNotMet, want.String(), m.offered(before, want.Key()), m.count(before)
			return r
		}
	}
	steps := []func(*demand.Group, *Pool, bitset.Set, *plan.Reason) bitset.Set{s.roomy, s.withoutPortClash, s.sold, s.withinLimits}
	for _, step := range steps {
		after := step(g, p, left, &r)
		if after.Empty() {
			r.Removed = m.count(left)
			return r
		}
		left = after
	}
	r.Removed = m.count(left)
	s.floorVerdict(p, left, &r)
	return r
}

// floorVerdict is what is left to say when single launches would do: the pool
// demands several, of which there are too few, or too few within the limits.
func (s *Supply) floorVerdict(p *Pool, left bitset.Set, r *plan.Reason) {
	counts := s.Market.NewFloors(p)
	for l := range left.All() {
		counts.Add(l)
	}
	for i, floor := range p.Floors {
		if len(counts.seen[i]) < floor.MinValues() {
			r.Code, r.Want, r.Have = plan.MinValuesNotMet, fmt.Sprintf("%d of %s", floor.MinValues(), floor.Key()), fmt.Sprint(len(counts.seen[i]))
			return
		}
	}
	if len(p.Limits) > 0 {
		r.Code = plan.LimitExceeded
		r.Want, r.Have = p.usage(0)
	}
}

// usage prints a limit and what is used of it.
func (p *Pool) usage(i int) (limit, used string) {
	name := p.Limits[i].name
	most, now := vector.Quantity(name, p.Limits[i].most), vector.Quantity(name, p.Used[i])
	return fmt.Sprintf("%s %s", name, most.String()), fmt.Sprintf("%s %s", name, now.String())
}

// count is the number of different types among launches.
func (m *Market) count(launches bitset.Set) int {
	kinds := map[int32]bool{}
	for i := range launches.All() {
		kinds[m.Launches[i].Kind] = true
	}
	return len(kinds)
}

// offered lists what launches say about a label.
func (m *Market) offered(launches bitset.Set, key string) string {
	if key == corev1.LabelHostname {
		return "names that are not known yet"
	}
	var sum requirement.Requirement
	var others []string
	var values []string
	for i := range launches.All() {
		r := m.Index.Says(i, key)
		switch {
		case r.Finite() && len(r.Values()) > 0:
			values = append(values, r.Values()...)
		case !slices.Contains(others, r.String()):
			others = append(others, r.String())
		}
	}
	if len(values) > 0 {
		sum = requirement.Must(key, requirement.In, values...)
		return sum.String()
	}
	if len(others) == 0 {
		return ""
	}
	return others[0]
}

// roomy keeps the launches whose machines are large enough.
func (s *Supply) roomy(g *demand.Group, _ *Pool, left bitset.Set, r *plan.Reason) bitset.Set {
	m := s.Market
	out := left.Clone()
	largest := make([]int64, len(s.Dims.Names))
	for i := range left.All() {
		l := &m.Launches[i]
		room := true
		for d, n := range m.Kinds[l.Kind].Allocatable {
			free := max(0, n-m.Overheads[l.Overhead].Need[d])
			largest[d] = max(largest[d], free)
			room = room && (g.Need[d] == 0 || g.Need[d] <= free)
		}
		if !room {
			out.Remove(i)
		}
	}
	if out.Empty() {
		r.Code = plan.InsufficientResources
		d := scarcest(g.Need, largest)
		r.Want, r.Have = s.Dims.Amount(d, g.Need[d]), s.Dims.Amount(d, largest[d])
		if g.Need[d] <= largest[d] {
			r.Want, r.Have = s.Dims.Amounts(g.Need), ""
		}
	}
	return out
}

// scarcest is the dimension that lacks most in proportion.
func scarcest(need, have []int64) int {
	best, worst := 0, -1.0
	for d, n := range need {
		if n == 0 {
			continue
		}
		if ratio := float64(n) / float64(max(have[d], 1)); ratio > worst {
			best, worst = d, ratio
		}
	}
	return best
}

// withoutPortClash keeps the launches on which no DaemonSet takes the pod's
// ports.
func (s *Supply) withoutPortClash(g *demand.Group, _ *Pool, left bitset.Set, r *plan.Reason) bitset.Set {
	m := s.Market
	out := left.Clone()
	for i := range left.All() {
		for _, d := range m.Overheads[m.Launches[i].Overhead].daemons {
			for _, port := range s.daemons[d].ports {
				if slices.Contains(g.Shape.Clashes, port) {
					out.Remove(i)
					p := s.Ports.Port(port)
					r.Code, r.Want = plan.HostPortTaken, fmt.Sprintf("%s/%d", p.Protocol, p.Port)
					r.Objects = append(r.Objects[:1:1], plan.ObjectRef{Kind: "DaemonSet", Namespace: s.daemons[d].Namespace, Name: s.daemons[d].Name})
				}
			}
		}
	}
	return out
}

// sold keeps the launches that the cloud sells at present.
func (s *Supply) sold(_ *demand.Group, _ *Pool, left bitset.Set, r *plan.Reason) bitset.Set {
	m := s.Market
	out := left.Clone()
	out.And(m.Available)
	if out.Empty() {
		r.Code = plan.OfferingUnavailable
		var have []string
		for i := range left.All() {
			o := m.Launches[i].Offering
			have = append(have, o.Zone+"/"+o.CapacityType)
		}
		slices.Sort(have)
		have = slices.Compact(have)
		r.Have = fmt.Sprint(have)
	}
	return out
}

// withinLimits keeps the launches that the pool's limits still allow.
func (s *Supply) withinLimits(_ *demand.Group, p *Pool, left bitset.Set, r *plan.Reason) bitset.Set {
	m := s.Market
	out := left.Clone()
	for i := range left.All() {
		for d, n := range m.Kinds[m.Launches[i].Kind].Size {
			if p.Used[d]+n > p.Limits[d].most {
				out.Remove(i)
				r.Code = plan.LimitExceeded
				r.Want, r.Have = p.usage(d)
			}
		}
	}
	return out
}

// noTypes explains a pool whose own requirements leave nothing.
func (m *Market) noTypes(p *Pool) plan.Reason {
	r := plan.Reason{Code: plan.NoInstanceTypes, Objects: p.refs(), Removed: len(p.Types), Total: len(p.Types)}
	counts := map[string]int{}
	for _, t := range p.Types {
		if key, conflict := t.Requirements.Conflict(p.Requirements, anyKey); conflict {
			counts[key]++
		}
	}
	keys := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	if len(keys) > 0 {
		r.Want = p.Requirements.Get(keys[0]).String()
		for _, t := range p.Types {
			if have, ok := t.Requirements.Lookup(keys[0]); ok {
				r.Have = have.String()
				break
			}
		}
	}
	return r
}

func (p *Pool) refs() []plan.ObjectRef { return []plan.ObjectRef{{Kind: "NodePool", Name: p.Name}} }
