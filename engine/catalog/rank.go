package catalog

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/requirement"
)

// Choice is a type bought through one of its offerings. Both are the catalogue's own,
// to be read only: a plan lists hundreds of choices for every machine.
type Choice struct {
	Type     *Type
	Offering *Offering
}

// Key names the choice.
func (c Choice) Key() Key { return c.Offering.Key(c.Type.Name) }

// Exotic reports whether only those should get the choice who need its hardware.
func (c Choice) Exotic() bool { return c.Type.Exotic && c.Offering.CapacityType != Reserved }

// BareMetal reports whether only those should get the choice for whom nothing else will do.
func (c Choice) BareMetal() bool { return c.Type.BareMetal && c.Exotic() }

// Labels are the single-valued labels that a node of this choice carries.
func (c Choice) Labels() map[string]string {
	labels := map[string]string{}
	for _, r := range c.Type.Requirements.And(c.Offering.Requirements()) {
		if r.Finite() && len(r.Values()) == 1 {
			labels[r.Key()] = r.Values()[0]
		}
	}
	return labels
}

// Rank lists every available choice that satisfies the requirements and whose
// allocatable holds the requests, cheapest first; ties go to the smaller name,
// then zone, then capacity type. Keys that a type does not define are open. The
// unavailable filter (nil for none) drops choices that the cloud has just
// refused. Exotic types are left out where anything else will do, as in Karpenter, and bare metal
// where accelerators will: unless they are reserved, and so paid for, or the requirements have
// minValues.
func Rank(types []*Type, want requirement.Set, requests corev1.ResourceList, unavailable func(Key) bool) []Choice {
	var out []Choice
	for _, t := range types {
		if _, conflict := t.Requirements.Conflict(want, anyKey); conflict || !t.holds(requests) {
			continue
		}
		for i := range t.Offerings {
			o := &t.Offerings[i]
			if o.Available && o.satisfies(want) && (unavailable == nil || !unavailable(o.Key(t.Name))) {
				out = append(out, Choice{t, o})
			}
		}
	}
	if !want.HasMinValues() {
		for _, rare := range []func(Choice) bool{Choice.Exotic, Choice.BareMetal} {
			if others := slices.DeleteFunc(slices.Clone(out), rare); len(others) > 0 {
				out = others
			}
		}
	}
	slices.SortFunc(out, func(a, b Choice) int {
		if by := cmp.Compare(a.Offering.Price, b.Offering.Price); by != 0 {
			return by
		}
		return cmp.Or(
			cmp.Compare(a.Type.Name, b.Type.Name),
			cmp.Compare(a.Offering.Zone, b.Offering.Zone),
			cmp.Compare(a.Offering.CapacityType, b.Offering.CapacityType),
		)
	})
	return out
}

// anyKey leaves undefined keys open: a claim's own labels (pool, custom keys)
// are not a property of the instance type.
func anyKey(string) bool { return true }

// satisfies reports whether the labels that come with the offering are wanted.
func (o *Offering) satisfies(want requirement.Set) bool {
	for _, r := range want {
		var value string
		var ok bool
		switch r.Key() {
		case corev1.LabelTopologyZone:
			value, ok = o.Zone, true
		case CapacityTypeLabel:
			value, ok = o.CapacityType, true
		default:
			value, ok = o.Labels[r.Key()]
		}
		if ok && !r.Has(value) {
			return false
		}
	}
	return true
}

// holds reports whether pods can request so much of a machine of this type. What
// is not requested does not matter.
func (t *Type) holds(requests corev1.ResourceList) bool {
	for name, want := range requests {
		if want.Sign() <= 0 {
			continue
		}
		have := t.Capacity[name].DeepCopy()
		have.Sub(t.Overhead[name])
		if name == corev1.ResourceMemory {
			have.Sub(t.HugePages())
		}
		if want.Cmp(have) > 0 {
			return false
		}
	}
	return true
}
