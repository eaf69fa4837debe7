package supply

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// prospects are the launches by which a machine may come to be that was asked for and is not
// launched yet. What holds for all of them is certain of the machine.
type prospects struct {
	market   *Market
	pool     *Pool
	launches bitset.Set
	// said memoises says.
	said map[string]requirement.Requirement
}

// prospectsOf are those of a machine's claim: launches of its pool that satisfy what it
// requires and hold what it requests, sold at present or not. It is nil if there are none, as
// while the pool's types are not known or after its requirements have changed.
func (s *Supply) prospectsOf(n *snapshot.Node) *prospects {
	m := s.Market
	at := slices.IndexFunc(m.Pools, func(p *Pool) bool { return p.Name == n.Claim.Pool })
	if at < 0 || m.Pools[at].Lo == m.Pools[at].Hi {
		return nil
	}
	of := bitset.New(len(m.Launches))
	of.AddRange(m.Pools[at].Lo, m.Pools[at].Hi)
	of.And(m.Index.Satisfying(n.Claim.Requirements))
	requests := s.Dims.Have(n.Claim.Requests)
	for i := range of.All() {
		for d, has := range m.Kinds[m.Launches[i].Kind].Allocatable {
			if has < requests[d] {
				of.Remove(i)
				break
			}
		}
	}
	if of.Empty() {
		return nil
	}
	return &prospects{market: m, pool: m.Pools[at], launches: of, said: map[string]requirement.Requirement{}}
}

// asked reports whether the pool requires something of a label. A claim has got that from
// its pool, unless it was made before the pool required it.
func (p *prospects) asked(key string) bool {
	_, ok := p.pool.Requirements.Lookup(key)
	return ok
}

// says is what the machine will say about a label, as far as that is certain.
func (p *prospects) says(key string) requirement.Requirement {
	if known, ok := p.said[key]; ok {
		return known
	}
	statements := p.market.Index.Among(p.launches, key)
	out := statements[0]
	for _, r := range statements[1:] {
		out = out.Or(r)
	}
	p.said[key] = out
	return out
}

// load is an empty machine with what all of the launches leave for pods, and with what the
// DaemonSets of any of them occupy.
func (p *prospects) load() pack.Load {
	var out pack.Load
	var holds []int64
	overheads := map[int32]bool{}
	for i := range p.launches.All() {
		l := &p.market.Launches[i]
		if out.Free == nil {
			out.Free, holds = p.market.Holds(l), make([]int64, len(p.market.Overheads[l.Overhead].Need))
		}
		p.market.Fill(holds, l)
		for d, n := range holds {
			out.Free[d] = min(out.Free[d], n)
		}
		if !overheads[l.Overhead] {
			overheads[l.Overhead] = true
			out.Present = append(out.Present, p.market.Overheads[l.Overhead].Present...)
		}
	}
	slices.Sort(out.Present)
	out.Present = slices.Compact(out.Present)
	return out
}
