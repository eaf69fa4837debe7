package supply

import (
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// assortment is what the requirements of a pool leave of its types. It is
// immutable.
type assortment struct {
	// kinds are by name, launches the cheapest first.
	kinds    []Kind
	launches []Launch
	// special are the labels that offerings give.
	special []string
}

// Cache keeps from one plan to the next what pools leave of their types, as long as
// neither changes. Plans are the same without. It goes by where the lists of types
// and requirements are, so whoever changes one has to make another. It is safe for
// concurrent use.
type Cache struct {
	mu   sync.Mutex
	made map[madeKey]*assortment
}

// madeKey tells assortments apart: by the first of the types and of the
// requirements, with their numbers, and the dimensions.
type madeKey struct {
	types        **catalog.Type
	requirements *requirement.Requirement
	lengths      [2]int
	dims         string
}

// mostMade is how many assortments are kept before all are forgotten, for each pool
// that asks: old types go away at some time.
const mostMade = 8

// assortment finds what a pool leaves of its types, or makes it.
func (c *Cache) assortment(s *Supply, p *Pool) *assortment {
	if c == nil || len(p.Types) == 0 || slices.ContainsFunc(s.Dims.Names, demand.OfVolumes) {
		return s.newAssortment(p)
	}
	key := madeKey{types: &p.Types[0], lengths: [2]int{len(p.Types), len(p.Requirements)}, dims: dimsKey(s.Dims)}
	if len(p.Requirements) > 0 {
		key.requirements = &p.Requirements[0]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.made[key]; ok {
		return known
	}
	if c.made == nil || len(c.made) >= mostMade*len(s.Snap.Pools) {
		c.made = map[madeKey]*assortment{}
	}
	made := s.newAssortment(p)
	c.made[key] = made
	return made
}

func dimsKey(d *vector.Dims) string {
	var b strings.Builder
	for _, name := range d.Names {
		b.WriteString(string(name))
		b.WriteByte(0)
	}
	return b.String()
}

func (s *Supply) newAssortment(p *Pool) *assortment {
	offerings := 0
	for _, t := range p.Types {
		offerings += len(t.Offerings)
	}
	out := &assortment{kinds: make([]Kind, 0, len(p.Types)), launches: make([]Launch, 0, offerings)}
	x := newSieve(p.Requirements)
	for _, t := range sortedTypes(p.Types) {
		out.add(s, x, t)
	}
	sortByPrice(out.launches)
	return out
}

// add adds what is left of a type.
func (a *assortment) add(s *Supply, x *sieve, t *catalog.Type) {
	if x.conflicts(t.Requirements) {
		return
	}
	index, before := int32(len(a.kinds)), len(a.launches)
	for i := range t.Offerings {
		o := &t.Offerings[i]
		for key := range o.Labels {
			if n := len(a.special); (n == 0 || a.special[n-1] != key) && !slices.Contains(a.special, key) {
				a.special = append(a.special, key)
			}
		}
		if x.takes(o) {
			a.launches = append(a.launches, Launch{Kind: index, Offering: o, sold: o.Available, reserved: o.Reservation != ""})
		}
	}
	if len(a.launches) > before {
		a.kinds = append(a.kinds, Kind{Type: t, Allocatable: s.Allocatable(t)})
	}
}

// sieve is what a pool requires, in the form in which many types are compared with
// it.
type sieve struct {
	requirements requirement.Set
	// places are where the requirements were, or would have been, in the type that
	// was looked at last: types have about the same labels.
	places []int
	// zones and capacityTypes are what is required of these.
	zones, capacityTypes requirement.Requirement
}

func newSieve(r requirement.Set) *sieve {
	return &sieve{requirements: r, places: make([]int, len(r)), zones: r.Get(corev1.LabelTopologyZone), capacityTypes: r.Get(catalog.CapacityTypeLabel)}
}

// conflicts reports whether a type has a label that the pool does not take.
func (x *sieve) conflicts(labels requirement.Set) bool {
	for i := range x.requirements {
		want := &x.requirements[i]
		at, ok := indexNear(labels, want.Key(), x.places[i])
		x.places[i] = at
		if ok && !labels[at].Overlaps(*want) {
			return true
		}
	}
	return false
}

// indexNear finds the requirement on a key, or where it would be. It looks at one
// place first.
func indexNear(labels requirement.Set, key string, at int) (int, bool) {
	if at < len(labels) && labels[at].Key() == key {
		return at, true
	}
	if at <= len(labels) && (at == 0 || labels[at-1].Key() < key) && (at == len(labels) || key < labels[at].Key()) {
		return at, false
	}
	return labels.Index(key)
}

// takes reports whether the pool's requirements allow an offering.
func (x *sieve) takes(o *catalog.Offering) bool {
	if !x.zones.Has(o.Zone) || !x.capacityTypes.Has(o.CapacityType) {
		return false
	}
	for key, value := range o.Labels {
		r, ok := x.requirements.Lookup(key)
		if ok && !r.Has(value) && key != corev1.LabelTopologyZone && key != catalog.CapacityTypeLabel {
			return false
		}
	}
	return true
}
