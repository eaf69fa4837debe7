package catalog

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/requirement"
)

// Overlay changes what is known of instance types: what they cost, or resources of which only
// the owner knows. It is Karpenter's NodeOverlay, and follows its rules: of several that change
// one price or one resource the one of the highest weight counts.
type Overlay struct {
	Name   string
	Weight int32
	// Requirements are of the labels of a node: those of its pool, its type and its
	// offering. A key that the node lacks satisfies only what accepts its absence.
	Requirements requirement.Set
	// Price changes the price of offerings, nil for none.
	Price *PriceChange
	// Capacity is added to the resources of types.
	Capacity corev1.ResourceList
}

// PriceChange multiplies a price and adds to it, in $/h; the result is never below what is
// [PaidFor].
type PriceChange struct{ Factor, Plus float64 }

func (c *PriceChange) of(price float64) float64 { return max(price*PaidFor, price*c.Factor+c.Plus) }

// Overlaid are the types as overlays have them for nodes with a pool's labels. Types that none
// changes are shared.
func Overlaid(types []*Type, labels map[string]string, overlays []Overlay) []*Type {
	overlays = inOrder(overlays)
	pool := requirement.FromLabels(labels)
	out := slices.Clone(types)
	for i, t := range types {
		node := t.Requirements.And(pool)
		prices, resources := map[int]float64{}, corev1.ResourceList{}
		for _, o := range overlays {
			if !o.selects(node) {
				continue
			}
			for name, q := range o.Capacity {
				if _, set := resources[name]; !set {
					resources[name] = q
				}
			}
			for _, k := range o.reprices(t, pool) {
				if _, set := prices[k]; !set {
					prices[k] = o.Price.of(t.Offerings[k].Price)
				}
			}
		}
		if len(prices) == 0 && len(resources) == 0 {
			continue
		}
		changed := *t
		changed.Capacity, changed.Offerings = maps.Clone(t.Capacity), slices.Clone(t.Offerings)
		maps.Copy(changed.Capacity, resources)
		for k, price := range prices {
			changed.Offerings[k].Price, changed.Offerings[k].Repriced = price, true
		}
		out[i] = &changed
	}
	return out
}

// inOrder are overlays by weight, the highest first, and those of one weight by name, the last
// first.
func inOrder(overlays []Overlay) []Overlay {
	return slices.SortedFunc(slices.Values(overlays), func(a, b Overlay) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(b.Name, a.Name))
	})
}

// selects reports whether nodes with such labels satisfy the overlay.
func (o *Overlay) selects(node requirement.Set) bool {
	_, conflict := node.Conflict(o.Requirements, nil)
	return !conflict
}

// reprices are the offerings of a type, by index, whose price the overlay changes for a pool.
func (o *Overlay) reprices(t *Type, pool requirement.Set) []int {
	if o.Price == nil || !o.selects(t.Requirements.And(pool)) {
		return nil
	}
	var out []int
	for k := range t.Offerings {
		if o.selects(t.bought(k).And(pool)) {
			out = append(out, k)
		}
	}
	return out
}

// bought are the labels of a node of the type that was bought by its k-th offering. It lacks
// those that only other offerings come with.
func (t *Type) bought(k int) requirement.Set {
	own := t.Offerings[k].Requirements()
	for _, other := range t.Offerings {
		for key := range other.Labels {
			if _, has := own.Lookup(key); !has {
				own = own.With(requirement.Must(key, requirement.DoesNotExist))
			}
		}
	}
	out := t.Requirements
	for _, r := range own {
		out = out.Without(r.Key())
	}
	return out.And(own)
}

// Contradictions are overlays that must not count, each with one of the same weight that
// changes a price or a resource of the same types of a pool, by name.
func Contradictions(overlays []Overlay, markets []Market) map[string]string {
	out := map[string]string{}
	var kept []Overlay
	for _, o := range inOrder(overlays) {
		i := slices.IndexFunc(kept, func(k Overlay) bool {
			return k.Weight == o.Weight && slices.ContainsFunc(markets, func(m Market) bool { return m.contradict(&k, &o) })
		})
		if i < 0 {
			kept = append(kept, o)
			continue
		}
		out[o.Name] = kept[i].Name
	}
	return out
}

// Market is what a pool may choose from: the labels of its nodes, and the types of its class.
type Market struct {
	Labels map[string]string
	Types  []*Type
}

func (m Market) contradict(a, b *Overlay) bool {
	pool := requirement.FromLabels(m.Labels)
	return slices.ContainsFunc(m.Types, func(t *Type) bool {
		if node := t.Requirements.And(pool); !a.selects(node) || !b.selects(node) {
			return false
		}
		for name := range a.Capacity {
			if _, both := b.Capacity[name]; both {
				return true
			}
		}
		theirs := b.reprices(t, pool)
		return slices.ContainsFunc(a.reprices(t, pool), func(k int) bool { return slices.Contains(theirs, k) })
	})
}
