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
		n := kind{t: t, any: t.Requirements.And(pool), pool: pool}
		changed := *t
		changed.AddedBy = map[corev1.ResourceName]string{}
		changed.Capacity, changed.Offerings = maps.Clone(t.Capacity), slices.Clone(t.Offerings)
		for _, o := range overlays {
			if !o.selects(n.any) {
				continue
			}
			for name, q := range o.Capacity {
				if changed.AddedBy[name] == "" {
					changed.Capacity[name], changed.AddedBy[name] = q, o.Name
					out[i] = &changed
				}
			}
			for _, k := range n.repriced(&o) {
				if p := &changed.Offerings[k]; p.PricedBy == "" {
					p.Price, p.PricedBy = o.Price.of(p.Price), o.Name
					out[i] = &changed
				}
			}
		}
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

// kind is the nodes of one type in a pool: their labels, and those of nodes that were bought by
// each offering, once they are asked for.
type kind struct {
	t         *Type
	any, pool requirement.Set
	bought    []requirement.Set
}

// repriced are the offerings, by index, whose price an overlay changes that selects the kind.
func (n *kind) repriced(o *Overlay) []int {
	if o.Price == nil {
		return nil
	}
	if n.bought == nil {
		for k := range n.t.Offerings {
			n.bought = append(n.bought, n.t.boughtBy(k).And(n.pool))
		}
	}
	var out []int
	for k, node := range n.bought {
		if o.selects(node) {
			out = append(out, k)
		}
	}
	return out
}

// boughtBy are the labels of a node of the type that was bought by its k-th offering. It lacks
// those that only other offerings come with.
func (t *Type) boughtBy(k int) requirement.Set {
	own := t.Offerings[k].Requirements()
	for _, other := range t.Offerings {
		for key := range other.Labels {
			if _, has := own.Lookup(key); !has {
				own = own.With(requirement.Must(key, requirement.DoesNotExist))
			}
		}
	}
	keys := make([]string, len(own))
	for i, r := range own {
		keys[i] = r.Key()
	}
	return t.Requirements.Without(keys...).And(own)
}

// Market is what a pool may choose from: the labels of its nodes, and the types of its class.
type Market struct {
	Labels map[string]string
	Types  []*Type
}

// change is what one overlay of a weight may change: a resource of a kind, or the price of one
// of its offerings.
type change struct {
	weight   int32
	kind     int
	resource corev1.ResourceName
	offering int
}

// Contradictions are overlays that must not count, each with one of the same weight that
// changes a price or a resource of the same types of a pool, by name.
func Contradictions(overlays []Overlay, markets []Market) map[string]string {
	var kinds []*kind
	for _, m := range markets {
		pool := requirement.FromLabels(m.Labels)
		for _, t := range m.Types {
			kinds = append(kinds, &kind{t: t, any: t.Requirements.And(pool), pool: pool})
		}
	}
	out, changed := map[string]string{}, map[change]string{}
	for _, o := range inOrder(overlays) {
		changes := o.changes(kinds)
		if i := slices.IndexFunc(changes, func(c change) bool { return changed[c] != "" }); i >= 0 {
			out[o.Name] = changed[changes[i]]
			continue
		}
		for _, c := range changes {
			changed[c] = o.Name
		}
	}
	return out
}

func (o *Overlay) changes(kinds []*kind) []change {
	var out []change
	for i, n := range kinds {
		if !o.selects(n.any) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(o.Capacity)) {
			out = append(out, change{o.Weight, i, name, -1})
		}
		for _, k := range n.repriced(o) {
			out = append(out, change{o.Weight, i, "", k})
		}
	}
	return out
}
