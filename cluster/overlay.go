package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/cluster/admitted"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// Overlay translates a NodeOverlay, and says which of its fields mean nothing.
func Overlay(o *overlayv1alpha1.NodeOverlay) (catalog.Overlay, Faults) {
	out := catalog.Overlay{Name: o.Name, Capacity: o.Spec.Capacity}
	faults := unread(o)
	if why := admitted.Overlay(o); why != "" {
		faults = append(faults, Fault{"spec", why})
	}
	for _, name := range slices.Sorted(maps.Keys(o.Spec.Capacity)) {
		if q := o.Spec.Capacity[name]; q.Sign() < 0 { // which no Node can have
			faults = append(faults, Fault{fmt.Sprintf("spec.capacity[%s]", name), fmt.Sprintf("%s is negative", &q)})
		}
	}
	if o.Spec.Weight != nil {
		out.Weight = *o.Spec.Weight
	}
	for i, r := range o.Spec.Requirements {
		one, err := requirement.New(r.Key, requirement.Operator(r.Operator), r.Values...)
		if err != nil {
			faults = append(faults, Fault{fmt.Sprintf("spec.requirements[%d]", i), err.Error()})
			continue
		}
		out.Requirements = out.Requirements.With(one)
	}
	var err error
	switch {
	case o.Spec.Price != nil:
		if out.Price, err = absolute(*o.Spec.Price); err != nil {
			faults = append(faults, Fault{"spec.price", err.Error()})
		}
	case o.Spec.PriceAdjustment != nil:
		if out.Price, err = relative(*o.Spec.PriceAdjustment); err != nil {
			faults = append(faults, Fault{"spec.priceAdjustment", err.Error()})
		}
	}
	return out, faults
}

// CheckOverlay finds fields that mean nothing.
func CheckOverlay(o *overlayv1alpha1.NodeOverlay) Faults {
	_, faults := Overlay(o)
	return faults
}

func absolute(text string) (*catalog.PriceChange, error) {
	price, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a price in $/h", text)
	}
	return &catalog.PriceChange{Plus: price}, nil
}

// relative reads +0.5, which is in $/h, and -15%.
func relative(text string) (*catalog.PriceChange, error) {
	number, percent := strings.CutSuffix(text, "%")
	change, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is neither a change in $/h, as in -0.5, nor one in per cent, as in +10%%", text)
	case percent:
		return &catalog.PriceChange{Factor: 1 + change/100}, nil
	}
	return &catalog.PriceChange{Factor: 1, Plus: change}, nil
}

// inForce reports whether an overlay counts: it has been validated and contradicts no other. Of
// a file it counts as it is.
func (s *Store) inForce(o *overlayv1alpha1.NodeOverlay) bool {
	return s.options.Offline && len(o.Status.Conditions) == 0 || o.StatusConditions(status.WithObservedOnly()).Root().IsTrue()
}

// putOverlay takes in an overlay. One that does not count is as one that is not there.
func (s *Store) putOverlay(o *overlayv1alpha1.NodeOverlay) {
	if value, faults := Overlay(o); len(faults) == 0 && s.inForce(o) {
		s.overlays.put(o.Name, value)
		return
	}
	s.overlays.drop(o.Name)
}

// overlaid are the types of a pool as its overlays have them, and of what they were made.
type overlaid struct {
	labels  map[string]string
	version uint64
	types   []*catalog.Type
	result  []*catalog.Type
}

// Types are instance types of a class as they are for a pool: with the overlays that count. The
// same is returned until one of the three changes.
func (s *Store) Types(pool string, types []*catalog.Type) []*catalog.Type {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pools.byKey[pool]
	if !ok || len(s.overlays.byKey) == 0 {
		return types
	}
	was := s.overlaid[pool]
	if !maps.Equal(was.labels, p.Labels) || was.version != s.overlays.version || !slices.Equal(was.types, types) {
		was = overlaid{p.Labels, s.overlays.version, types, catalog.Overlaid(types, p.Labels, s.overlays.list())}
		s.overlaid[pool] = was
	}
	return was.result
}
