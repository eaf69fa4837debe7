package supply

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"weak"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// inventory is a list of types in the form in which pools choose from it: nothing
// in it depends on a pool or a pod. What it gives out is shared and must not be
// changed. It is safe for concurrent use.
type inventory struct {
	// types are by name; launches are all ways to buy them, the cheapest first,
	// equal ones by type, zone, capacity type and reservation, each with the index of its
	// type as its kind. Allocatable is what can be requested of types.
	types       []*catalog.Type
	allocatable []map[corev1.ResourceName]int64
	launches    []Launch
	// defined are the labels that types and offerings give.
	defined map[string]bool

	mu sync.Mutex
	// index answers for launches what they say about labels; one without a label may come
	// to have it.
	index *affinity.Index
}

func newInventory(types []*catalog.Type) *inventory {
	v := &inventory{defined: map[string]bool{corev1.LabelTopologyZone: true, catalog.CapacityTypeLabel: true}}
	v.types = slices.SortedStableFunc(slices.Values(types), func(a, b *catalog.Type) int { return cmp.Compare(a.Name, b.Name) })
	for kind, t := range v.types {
		held := map[corev1.ResourceName]int64{}
		for name, q := range t.Allocatable() {
			held[name] = vector.Held(name, q)
		}
		v.allocatable = append(v.allocatable, held)
		for i := range t.Offerings {
			o := &t.Offerings[i]
			v.launches = append(v.launches, Launch{Kind: int32(kind), Offering: o})
			for key := range o.Labels {
				v.defined[key] = true
			}
		}
		for _, r := range t.Requirements {
			v.defined[r.Key()] = true
		}
	}
	slices.SortFunc(v.launches, func(a, b Launch) int {
		x, y := a.Offering, b.Offering
		return cmp.Or(cmp.Compare(x.Price, y.Price), cmp.Compare(a.Kind, b.Kind), cmp.Compare(x.Zone, y.Zone),
			cmp.Compare(x.CapacityType, y.CapacityType), cmp.Compare(x.Reservation, y.Reservation))
	})
	v.index = affinity.New(len(v.launches), requirement.Requirement.Overlaps, func(i int, key string) requirement.Requirement {
		l := &v.launches[i]
		if value, ok := OfferingLabel(l.Offering, key); ok {
			return requirement.Must(key, requirement.In, value)
		}
		if r, ok := v.types[l.Kind].Requirements.Lookup(key); ok {
			return r
		}
		return requirement.Must(key, requirement.NotIn)
	})
	return v
}

// Sold is what a cloud sells: the types of a list by name, what can be requested of each, and
// all ways to buy them, the cheapest first, each with the index of its type as its kind. It is
// shared and must not be changed.
func (s *Supply) Sold(list []*catalog.Type) (types []*catalog.Type, allocatable [][]int64, launches []Launch) {
	v := s.cache.inventory(list)
	for i := range v.types {
		allocatable = append(allocatable, s.requestable(v, i))
	}
	return v.types, allocatable, v.launches
}

// requestable is what can be requested of the i-th type.
func (s *Supply) requestable(v *inventory, i int) []int64 {
	out := make([]int64, len(s.Dims.Names))
	for d, name := range s.Dims.Names {
		out[d] = v.allocatable[i][name]
	}
	s.limitVolumes(out, nil, func(driver string) (limit int64, limited bool) {
		limit, limited = v.types[i].AttachLimits[driver]
		return limit, limited
	})
	return out
}

// satisfying are the launches that a pool's requirements allow, and the types that they are of.
func (v *inventory) satisfying(want requirement.Set) (launches, types bitset.Set) {
	v.mu.Lock()
	launches = v.index.Satisfying(want)
	v.mu.Unlock()
	types = bitset.New(len(v.types))
	for i := range launches.All() {
		types.Add(int(v.launches[i].Kind))
	}
	return launches, types
}

// Cache keeps from one plan to the next the lists of instance types that clouds
// sell, in the form in which pools choose from them; what pools and pods make of
// them is found out for every plan. Plans are the same without. It goes by where a
// list is, so a changed list has to be another one, and keeps nothing of lists that are
// garbage: on EC2 one takes 15 MB, and each launch that is refused makes another. The zero
// value is empty. It is safe for concurrent use.
type Cache struct {
	mu   sync.Mutex
	made map[list]*inventory
}

// list is where a list of types is.
type list struct {
	first  weak.Pointer[*catalog.Type]
	length int
}

// inventory finds that of a list, or makes it.
func (c *Cache) inventory(types []*catalog.Type) *inventory {
	if len(types) == 0 {
		return newInventory(nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := list{weak.Make(&types[0]), len(types)}
	if known, ok := c.made[key]; ok {
		return known
	}
	if c.made == nil {
		c.made = map[list]*inventory{}
	}
	maps.DeleteFunc(c.made, func(l list, _ *inventory) bool { return l.first.Value() == nil })
	made := newInventory(types)
	c.made[key] = made
	return made
}
