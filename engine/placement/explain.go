package placement

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// explain says for every pod that is left why no pool has a machine for it.
// Pods of one group have the same reasons.
func (w *world) explain(out *plan.Plan) {
	for _, g := range w.groups {
		if len(g.pods) == 0 {
			continue
		}
		reasons := w.reasons(g)
		for _, p := range g.pods {
			out.Unplaced = append(out.Unplaced, plan.Unplaced{Pod: p, Reasons: reasons})
		}
		g.vain, g.pods = len(g.pods), nil
	}
}

func (w *world) reasons(g *group) []plan.Reason {
	if len(g.shape.refused) > 0 {
		return g.shape.refused
	}
	if len(w.market.pools) == 0 {
		return []plan.Reason{{Code: plan.NoPools}}
	}
	out := w.verdicts(g)
	if len(out) == 0 {
		out = append(out, w.ruleOf(g))
	}
	return out
}

// verdicts are what the pools have against a group, those of pools that have
// something.
func (s *supply) verdicts(g *group) []plan.Reason {
	out := make([]plan.Reason, 0, len(s.market.pools))
	for _, p := range s.market.pools {
		if r := s.verdict(g, p); r.Code != "" {
			out = append(out, r)
		}
	}
	return out
}

// ruleOf is the rule of company that stands in a group's way: the first that it
// owns, or owned before it was bound to a domain, else one of others'.
func (s *supply) ruleOf(g *group) plan.Reason {
	roles := slices.Clone(g.shape.roles)
	if g.shape.base != nil {
		roles = append(roles, g.shape.base.roles...)
	}
	slices.SortStableFunc(roles, func(x, y role) int { return -compareBool(x.Owns, y.Owns) })
	if len(roles) > 0 {
		return unsatisfiable(s.company.ledgers[roles[0].rule])
	}
	return plan.Reason{Code: plan.TopologyNotSatisfiable, Want: "what the pod needs beside the others", Have: "they leave no room"}
}

// verdict finds the constraint that removed the last of a pool's types.
func (s *supply) verdict(g *group, p *pool) plan.Reason {
	reason := plan.Reason{Objects: p.refs(), Total: len(p.Types)}
	switch {
	case p.closed != nil:
		return *p.closed
	case p.lo == p.hi:
		return s.market.noTypes(p)
	}
	if taint, kept := taints.Untolerated(p.Taints, g.shape.tolerations); kept {
		reason.Code, reason.Have, reason.Removed = plan.TaintNotTolerated, taint.ToString(), reason.Total
		return reason
	}
	best := plan.Reason{}
	for i, term := range g.shape.terms {
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
func (s *supply) termVerdict(g *group, p *pool, term requirement.Set, r plan.Reason) plan.Reason {
	m := s.market
	left := bitset.New(len(m.launches))
	left.AddRange(p.lo, p.hi)
	for _, want := range term {
		before := left.Clone()
		left.And(m.index.One(want))
		if left.Empty() {
			r.Code, r.Want, r.Have, r.Removed = plan.RequirementNotMet, want.String(), m.offered(before, want.Key()), m.count(before)
			return r
		}
	}
	steps := []func(*group, *pool, bitset.Set, *plan.Reason) bitset.Set{s.roomy, s.withoutPortClash, s.sold, s.withinLimits}
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
func (s *supply) floorVerdict(p *pool, left bitset.Set, r *plan.Reason) {
	counts := s.market.newFloors(p)
	for l := range left.All() {
		counts.add(l)
	}
	for i, floor := range p.floors {
		if len(counts.seen[i]) < floor.MinValues() {
			r.Code, r.Want, r.Have = plan.MinValuesNotMet, fmt.Sprintf("%d of %s", floor.MinValues(), floor.Key()), fmt.Sprint(len(counts.seen[i]))
			return
		}
	}
	if len(p.limits) > 0 {
		r.Code = plan.LimitExceeded
		r.Want, r.Have = p.usage(0)
	}
}

// usage prints a limit and what is used of it.
func (p *pool) usage(i int) (limit, used string) {
	name := p.limits[i].name
	most, now := quantity(name, p.limits[i].most), quantity(name, p.used[i])
	return fmt.Sprintf("%s %s", name, most.String()), fmt.Sprintf("%s %s", name, now.String())
}

// count is the number of different types among launches.
func (m *market) count(launches bitset.Set) int {
	kinds := map[int32]bool{}
	for i := range launches.All() {
		kinds[m.launches[i].kind] = true
	}
	return len(kinds)
}

// offered lists what launches say about a label.
func (m *market) offered(launches bitset.Set, key string) string {
	if key == corev1.LabelHostname {
		return "names that are not known yet"
	}
	var sum requirement.Requirement
	var others []string
	var values []string
	for i := range launches.All() {
		r := m.index.Says(i, key)
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
func (s *supply) roomy(g *group, _ *pool, left bitset.Set, r *plan.Reason) bitset.Set {
	m := s.market
	out := left.Clone()
	largest := make([]int64, len(s.dims.names))
	for i := range left.All() {
		l := &m.launches[i]
		room := true
		for d, n := range m.kinds[l.kind].allocatable {
			free := max(0, n-m.overheads[l.overhead].need[d])
			largest[d] = max(largest[d], free)
			room = room && (g.need[d] == 0 || g.need[d] <= free)
		}
		if !room {
			out.Remove(i)
		}
	}
	if out.Empty() {
		r.Code = plan.InsufficientResources
		d := scarcest(g.need, largest)
		r.Want, r.Have = s.dims.amount(d, g.need[d]), s.dims.amount(d, largest[d])
		if g.need[d] <= largest[d] {
			r.Want, r.Have = s.dims.amounts(g.need), ""
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

func (d *dims) amount(i int, n int64) string {
	q := quantity(d.names[i], n)
	return fmt.Sprintf("%s %s", d.names[i], q.String())
}

func (d *dims) amounts(vec []int64) string {
	s := ""
	for i, n := range vec {
		if n == 0 || d.names[i] == corev1.ResourcePods {
			continue
		}
		if s != "" {
			s += ", "
		}
		s += d.amount(i, n)
	}
	return s
}

// withoutPortClash keeps the launches on which no DaemonSet takes the pod's
// ports.
func (s *supply) withoutPortClash(g *group, _ *pool, left bitset.Set, r *plan.Reason) bitset.Set {
	m := s.market
	out := left.Clone()
	for i := range left.All() {
		for _, d := range m.overheads[m.launches[i].overhead].daemons {
			for _, port := range s.daemons[d].ports {
				if slices.Contains(g.shape.clashes, port) {
					out.Remove(i)
					p := s.ports.Port(port)
					r.Code, r.Want = plan.HostPortTaken, fmt.Sprintf("%s/%d", p.Protocol, p.Port)
					r.Objects = append(r.Objects[:1:1], plan.ObjectRef{Kind: "DaemonSet", Namespace: s.daemons[d].Namespace, Name: s.daemons[d].Name})
				}
			}
		}
	}
	return out
}

// sold keeps the launches that the cloud sells at present.
func (s *supply) sold(_ *group, _ *pool, left bitset.Set, r *plan.Reason) bitset.Set {
	m := s.market
	out := left.Clone()
	out.And(m.available)
	if out.Empty() {
		r.Code = plan.OfferingUnavailable
		var have []string
		for i := range left.All() {
			o := m.launches[i].offering
			have = append(have, o.Zone+"/"+o.CapacityType)
		}
		slices.Sort(have)
		have = slices.Compact(have)
		r.Have = fmt.Sprint(have)
	}
	return out
}

// withinLimits keeps the launches that the pool's limits still allow.
func (s *supply) withinLimits(_ *group, p *pool, left bitset.Set, r *plan.Reason) bitset.Set {
	m := s.market
	out := left.Clone()
	for i := range left.All() {
		for d, n := range m.kinds[m.launches[i].kind].size {
			if p.used[d]+n > p.limits[d].most {
				out.Remove(i)
				r.Code = plan.LimitExceeded
				r.Want, r.Have = p.usage(d)
			}
		}
	}
	return out
}

// noTypes explains a pool whose own requirements leave nothing.
func (m *market) noTypes(p *pool) plan.Reason {
	r := plan.Reason{Code: plan.NoInstanceTypes, Objects: p.refs(), Removed: len(p.Types), Total: len(p.Types)}
	counts := map[string]int{}
	for _, t := range p.Types {
		if key, conflict := t.Requirements.Conflict(p.Requirements, anyKey); conflict {
			counts[key]++
		}
	}
	keys := sortedKeys(counts)
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

func (p *pool) refs() []plan.ObjectRef { return []plan.ObjectRef{{Kind: "NodePool", Name: p.Name}} }
