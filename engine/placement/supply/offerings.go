package supply

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Offerings is everything that could be launched.
type Offerings struct {
	// Pools are all pools, the heaviest first, equal weights by name.
	Pools []*Pool
	// Launches are the ways to launch a machine, pool by pool, the cheapest first.
	Launches []Launch
	Kinds    []Kind
	// Available are the launches that the cloud sells at present.
	Available bitset.Set
	// Exotic are those of exotic hardware that no minValues ask for, BareMetal those of them that
	// are bare metal.
	Exotic, BareMetal bitset.Set
	Index             *affinity.Index
	// Reservations are those that launches draw on.
	Reservations []Reservation
	accepting    accepting
	// Lenient says that minValues are only wished for.
	Lenient bool
	// MinTypes is how many instance types the caller demands of every machine, whatever
	// the pools do; zero is none.
	MinTypes int
	// Overheads are the different sets of DaemonSets that a launch may carry.
	Overheads []Overhead
}

// Launch is one way to get a machine: a type of a pool through an offering.
type Launch struct {
	Pool, Kind, Overhead int32
	Offering             *catalog.Offering
	// reservation is the index of the reservation and one, zero for none.
	reservation int32
}

// Kind is a type as a pool offers it.
type Kind struct {
	*catalog.Type
	// Allocatable is what pods can request before DaemonSets take their share.
	Allocatable []int64
	// Size is what one machine takes of the pool's limits.
	Size []int64
}

// Overhead is what a set of DaemonSets, by their numbers, takes of each machine.
type Overhead struct {
	Daemons []int
	Need    []int64
	// Present are the tokens of their host ports and anti-affinity.
	Present []pack.Token
}

func (s *Supply) newOfferings(ledger *limit.Ledger) *Offerings {
	m := &Offerings{accepting: accepting{}}
	sorted := slices.SortedFunc(slices.Values(s.Snap.Pools), func(a, b *snapshot.Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range sorted {
		m.addPool(s, p)
	}
	m.Commit(ledger)
	m.Index = affinity.New(len(m.Launches), requirement.Requirement.Overlaps, m.says)
	m.Available, m.Exotic, m.BareMetal = bitset.New(len(m.Launches)), bitset.New(len(m.Launches)), bitset.New(len(m.Launches))
	for i := range m.Launches {
		l := &m.Launches[i]
		if l.Offering.Available && (len(s.Snap.Unavailable) == 0 || !s.Snap.Refused(l.Offering.Key(m.Kinds[l.Kind].Name))) {
			m.Available.Add(i)
		}
		if c := (catalog.Choice{Type: m.Kinds[l.Kind].Type, Offering: l.Offering}); c.Exotic() && len(m.Pools[l.Pool].MinValues) == 0 {
			if m.Exotic.Add(i); c.BareMetal() {
				m.BareMetal.Add(i)
			}
		}
	}
	m.addReservations(s)
	m.addOverheads(s)
	return m
}

// addPool adds what a pool leaves of its types.
func (m *Offerings) addPool(s *Supply, p *snapshot.Pool) {
	entry := s.newPool(p)
	entry.Lo = len(m.Launches)
	if entry.Closed == nil {
		v := s.cache.inventory(p.Types)
		launches, types := v.satisfying(p.Requirements)
		kinds := make([]int32, len(v.types))
		m.Kinds = slices.Grow(m.Kinds, types.Len())
		for i := range types.All() {
			kinds[i] = int32(len(m.Kinds))
			m.Kinds = append(m.Kinds, Kind{Type: v.types[i], Allocatable: s.requestable(v, i), Size: entry.SizeOf(v.types[i])})
		}
		m.Launches = slices.Grow(m.Launches, launches.Len())
		for i := range launches.All() {
			l := v.launches[i]
			m.Launches = append(m.Launches, Launch{Pool: int32(len(m.Pools)), Kind: kinds[l.Kind], Offering: l.Offering})
		}
	}
	entry.Hi = len(m.Launches)
	m.Pools = append(m.Pools, entry)
}

// says is what a machine that was launched this way would say about a label.
// Labels that neither pool nor type define are missing, but for a few that a cloud may add.
func (m *Offerings) says(i int, key string) requirement.Requirement {
	l := &m.Launches[i]
	p := m.Pools[l.Pool]
	if r, ok := p.Own(key); ok {
		return r
	}
	r, defined := m.Kinds[l.Kind].Requirements.Lookup(key)
	if value, ok := OfferingLabel(l.Offering, key); ok {
		r, defined = requirement.Must(key, requirement.In, value), true
	}
	if ofPool, ok := p.Requirements.Lookup(key); ok {
		if defined {
			return r.And(ofPool)
		}
		return ofPool
	}
	if !defined {
		return Undefined(key)
	}
	return r
}

// OfferingLabel is the label that a machine has for having been bought this way.
func OfferingLabel(o *catalog.Offering, key string) (string, bool) {
	switch key {
	case corev1.LabelTopologyZone:
		return o.Zone, true
	case catalog.CapacityTypeLabel:
		return o.CapacityType, true
	}
	value, ok := o.Labels[key]
	return value, ok
}

// Undefined is what is known about a label that neither pool nor type define: a
// cloud may add its region, its architecture and so on; it adds no others.
func Undefined(key string) requirement.Requirement {
	switch key {
	case corev1.LabelTopologyRegion, corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelInstanceTypeStable, corev1.LabelWindowsBuild:
		return requirement.Must(key, requirement.NotIn)
	}
	return requirement.Must(key, requirement.DoesNotExist)
}

// Accepting are the launches, sold at present or not, that will do. The result is
// shared.
func (m *Offerings) Accepting(n *demand.Node) bitset.Set {
	return m.accepting.of(n, func() bitset.Set {
		open := bitset.New(len(m.Launches))
		for _, p := range m.Pools {
			_, paused := n.PausedIn(p.Name)
			if n.Stays(p.Taints) && !paused {
				open.AddRange(p.Lo, p.Hi)
			}
		}
		open.And(m.Index.Any(n.Terms))
		return open
	})
}

// accepting memoises the places that accept what is demanded of nodes, by its key.
type accepting map[string]bitset.Set

func (a accepting) of(n *demand.Node, find func() bitset.Set) bitset.Set {
	known, ok := a[n.Key()]
	if !ok {
		known = find()
		a[n.Key()] = known
	}
	return known
}

// addOverheads finds out which DaemonSets would run on each launch.
func (m *Offerings) addOverheads(s *Supply) {
	var of []int32
	m.Overheads, of = s.Overheads(len(m.Launches), func(d *Daemon) bitset.Set { return m.Accepting(d.Node) })
	for i, id := range of {
		m.Launches[i].Overhead = id
	}
}

// Keep leaves no other types available.
func (m *Offerings) Keep(only func(*catalog.Type) bool) {
	m.Available = m.Available.Where(func(i int) bool { return only(m.Kinds[m.Launches[i].Kind].Type) })
}

// ByWeight divides the pools that are open into those of equal weight, the
// heaviest first.
func (m *Offerings) ByWeight() [][]*Pool {
	var out [][]*Pool
	for _, p := range m.Pools {
		if p.Closed != nil || p.Lo == p.Hi {
			continue
		}
		if n := len(out); n > 0 && out[n-1][0].Weight == p.Weight {
			out[n-1] = append(out[n-1], p)
			continue
		}
		out = append(out, []*Pool{p})
	}
	return out
}

// Takes reports whether a launch's machine has room for the need.
func (m *Offerings) Takes(need []int64, l *Launch) bool {
	for d, n := range need {
		if n > 0 && n+m.Overheads[l.Overhead].Need[d] > m.Kinds[l.Kind].Allocatable[d] {
			return false
		}
	}
	return true
}

// Affordable are those of the launches of which their pool's limits allow one.
func (m *Offerings) Affordable(launches bitset.Set) bitset.Set {
	out := launches.Clone()
	for i := range launches.All() {
		if l := &m.Launches[i]; !m.Pools[l.Pool].Affords(m.Kinds[l.Kind].Size) {
			out.Remove(i)
		}
	}
	return out
}

// TakesOnSome reports whether a machine of some of the launches has room for the need.
func (m *Offerings) TakesOnSome(launches bitset.Set, need []int64) bool {
	for i := range launches.All() {
		if m.Takes(need, &m.Launches[i]) {
			return true
		}
	}
	return false
}

// Needed are those of the launches that have room for the need: bare metal only where the limits
// allow nothing else that has.
func (m *Offerings) Needed(launches bitset.Set, need []int64) bitset.Set {
	out := launches.Where(func(i int) bool { return m.Takes(need, &m.Launches[i]) })
	others := out.Clone()
	if others.AndNot(m.BareMetal); m.Affordable(others).Empty() {
		return out
	}
	return others
}

// Selling are the launches that will do and are sold at present.
func (m *Offerings) Selling(n *demand.Node) bitset.Set {
	out := m.Accepting(n).Clone()
	out.And(m.Available)
	return out
}

// Sells reports whether a machine that is sold at present takes a pod.
func (m *Offerings) Sells(n *demand.Node, need []int64) bool {
	return m.TakesOnSome(m.Selling(n), need)
}

// Launchable reports whether a machine that takes the need can be launched: limits allow one, and
// those that they allow have the values that its pool's minValues demand.
func (m *Offerings) Launchable(n *demand.Node, need []int64) bool {
	open := m.Affordable(m.Selling(n))
	for _, p := range m.Pools {
		counts := m.NewMinValues(p)
		for i := range open.Within(p.Lo, p.Hi) {
			if !m.Takes(need, &m.Launches[i]) {
				continue
			}
			if counts.Add(i); m.Lenient || counts.Met() {
				return true
			}
		}
	}
	return false
}
