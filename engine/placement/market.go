package placement

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// market is everything that could be launched.
type market struct {
	// pools are all pools, the heaviest first, equal weights by name.
	pools []*pool
	// launches are the ways to launch a machine, pool by pool, the cheapest first.
	launches []launch
	kinds    []kind
	// available are the launches that the cloud sells at present.
	available bitset.Set
	index     *affinity.Index
	// overheads are the different sets of DaemonSets that a launch may carry.
	overheads []overhead
}

// launch is one way to get a machine: a type of a pool through an offering.
type launch struct {
	pool, kind, overhead int32
	offering             *catalog.Offering
}

// kind is a type as a pool offers it.
type kind struct {
	*catalog.Type
	// allocatable is what pods can request before DaemonSets take their share.
	allocatable []int64
	// size is what one machine takes of the pool's limits.
	size []int64
}

// overhead is what a set of DaemonSets takes of each machine.
type overhead struct {
	daemons []int
	need    []int64
	// present are the tokens of their host ports and anti-affinity.
	present []pack.Token
}

func (s *supply) newMarket() *market {
	m := &market{}
	sorted := slices.Clone(s.snap.Pools)
	slices.SortFunc(sorted, func(a, b *snapshot.Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Name, b.Name))
	})
	vectors := map[*catalog.Type][]int64{}
	for _, p := range sorted {
		m.addPool(s, p, vectors)
	}
	m.index = affinity.New(len(m.launches), false, m.says)
	m.available = bitset.New(len(m.launches))
	for i := range m.launches {
		l := &m.launches[i]
		if l.offering.Available && !s.snap.Refused(l.offering.Key(m.kinds[l.kind].Name)) {
			m.available.Add(i)
		}
	}
	s.addOverheads(m)
	return m
}

func (m *market) addPool(s *supply, p *snapshot.Pool, vectors map[*catalog.Type][]int64) {
	entry := s.newPool(p)
	entry.lo = len(m.launches)
	if entry.closed == nil {
		for _, t := range sortedTypes(p.Types) {
			m.addType(s, entry, t, vectors)
		}
	}
	entry.hi = len(m.launches)
	slices.SortFunc(m.launches[entry.lo:], func(a, b launch) int {
		return cmp.Or(
			cmp.Compare(a.offering.Price, b.offering.Price),
			cmp.Compare(a.kind, b.kind), // by name within a pool
			cmp.Compare(a.offering.Zone, b.offering.Zone),
			cmp.Compare(a.offering.CapacityType, b.offering.CapacityType),
		)
	})
	m.pools = append(m.pools, entry)
}

func sortedTypes(list []*catalog.Type) []*catalog.Type {
	byName := func(a, b *catalog.Type) int { return cmp.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(list, byName) {
		return list
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, byName)
	return out
}

// addType adds what the pool's own requirements leave of a type.
func (m *market) addType(s *supply, p *pool, t *catalog.Type, vectors map[*catalog.Type][]int64) {
	if _, conflict := t.Requirements.Conflict(p.Requirements, anyKey); conflict {
		return
	}
	index := int32(len(m.kinds))
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if p.takes(o) {
			m.launches = append(m.launches, launch{pool: int32(len(m.pools)), kind: index, offering: o})
		}
	}
	if len(m.launches) == 0 || m.launches[len(m.launches)-1].kind != index {
		return
	}
	vector, ok := vectors[t]
	if !ok {
		vector = s.allocatable(t)
		vectors[t] = vector
	}
	m.kinds = append(m.kinds, kind{Type: t, allocatable: vector, size: p.sizeOf(t)})
}

func anyKey(string) bool { return true }

// allocatable is a type's, as a vector.
func (s *supply) allocatable(t *catalog.Type) []int64 {
	out := s.dims.have(t.Capacity)
	for i, n := range s.dims.need(t.Overhead) {
		out[i] = max(0, out[i]-n)
	}
	for i, name := range s.dims.names {
		if driver, ok := attachDriver(name); ok {
			out[i] = endless
			if limit, ok := t.AttachLimits[driver]; ok {
				out[i] = limit
			}
		}
	}
	return out
}

// says is what a machine that was launched this way would say about a label.
// Labels that nobody defines are missing, but for a few that a cloud may add.
func (m *market) says(i int, key string) requirement.Requirement {
	l := &m.launches[i]
	p := m.pools[l.pool]
	if r, ok := p.own(key); ok {
		return r
	}
	r, defined := m.kinds[l.kind].Requirements.Lookup(key)
	if value, ok := offeringLabel(l.offering, key); ok {
		r, defined = requirement.Must(key, requirement.In, value), true
	}
	if ofPool, ok := p.Requirements.Lookup(key); ok {
		if defined {
			return r.And(ofPool)
		}
		return ofPool
	}
	if !defined {
		return undefined(key)
	}
	return r
}

func offeringLabel(o *catalog.Offering, key string) (string, bool) {
	switch key {
	case corev1.LabelTopologyZone:
		return o.Zone, true
	case catalog.CapacityTypeLabel:
		return o.CapacityType, true
	}
	value, ok := o.Labels[key]
	return value, ok
}

// undefined is what is known about a label that neither pool nor type define: a
// cloud may add its region, its architecture and so on; it adds no others.
func undefined(key string) requirement.Requirement {
	switch key {
	case corev1.LabelTopologyRegion, corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelInstanceTypeStable, corev1.LabelWindowsBuild:
		return requirement.Must(key, requirement.NotIn)
	}
	return requirement.Must(key, requirement.DoesNotExist)
}

// accepting are the launches, sold at present or not, whose labels and taints a
// shape accepts.
func (m *market) accepting(sh *shape) bitset.Set {
	out := bitset.New(len(m.launches))
	for _, term := range sh.terms {
		out.Or(m.index.Satisfying(term))
	}
	tolerated := bitset.New(len(m.launches))
	for _, p := range m.pools {
		if _, kept := taints.Untolerated(p.Taints, sh.tolerations); !kept {
			tolerated.AddRange(p.lo, p.hi)
		}
	}
	out.And(tolerated)
	return out
}

// addOverheads finds out which DaemonSets would run on each launch.
func (s *supply) addOverheads(m *market) {
	runs := make([]bitset.Set, len(s.daemons))
	for d, daemon := range s.daemons {
		runs[d] = daemon.places(m.index, len(m.launches))
		for _, p := range m.pools {
			if !daemon.tolerates(p.Taints) {
				for i := p.lo; i < p.hi; i++ {
					runs[d].Remove(i)
				}
			}
		}
	}
	ids := map[string]int32{}
	var key strings.Builder
	for i := range m.launches {
		key.Reset()
		var set []int
		for d := range runs {
			if runs[d].Has(i) {
				set = append(set, d)
				key.WriteString(string(rune(d)))
			}
		}
		id, ok := ids[key.String()]
		if !ok {
			id = int32(len(m.overheads))
			ids[key.String()] = id
			m.overheads = append(m.overheads, s.overheadOf(set))
		}
		m.launches[i].overhead = id
	}
}

func (s *supply) overheadOf(set []int) overhead {
	o := overhead{daemons: set, need: make([]int64, len(s.dims.names))}
	for _, d := range set {
		add(o.need, s.classNeed(s.daemons[d].Pod.Class), 1)
		o.present = append(append(o.present, s.daemons[d].ports...), s.daemons[d].tokens...)
	}
	slices.Sort(o.present)
	o.present = slices.Compact(o.present)
	return o
}

// holds is what is left of a launch's machine for pods.
func (m *market) holds(l *launch) []int64 {
	out := slices.Clone(m.kinds[l.kind].allocatable)
	for i, n := range m.overheads[l.overhead].need {
		out[i] = max(0, out[i]-n)
	}
	return out
}

// byWeight divides the pools that are open into those of equal weight, the
// heaviest first.
func (m *market) byWeight() [][]*pool {
	var out [][]*pool
	for _, p := range m.pools {
		if p.closed != nil || p.lo == p.hi {
			continue
		}
		if n := len(out); n > 0 && out[n-1][0].Weight == p.Weight {
			out[n-1] = append(out[n-1], p)
			continue
		}
		out = append(out, []*pool{p})
	}
	return out
}
