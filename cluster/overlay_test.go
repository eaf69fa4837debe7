package cluster

import (
	"slices"
	"testing"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

func TestWhatAnOverlayMakesOfAPrice(t *testing.T) {
	for _, c := range []struct {
		price, adjustment string
		want              float64 // of $2
		fault             string
	}{
		{price: "0.5", want: 0.5},
		{adjustment: "+0.5", want: 2.5},
		{adjustment: "-0.5", want: 1.5},
		{adjustment: "-3", want: 2e-7},
		{adjustment: "+10%", want: 2.2},
		{adjustment: "-25%", want: 1.5},
		{adjustment: "-100%", want: 2e-7},
		{price: "0", want: 2e-7},
		{price: "dear", fault: `spec.price: "dear" is not a price in $/h`},
		{adjustment: "half", fault: `spec.priceAdjustment: "half" is neither a change in $/h, as in -0.5, nor one in per cent, as in +10%`},
	} {
		o := &overlayv1alpha1.NodeOverlay{}
		if c.price != "" {
			o.Spec.Price = &c.price
		}
		if c.adjustment != "" {
			o.Spec.PriceAdjustment = &c.adjustment
		}
		value, faults := Overlay(o)
		if faults.String() != c.fault {
			t.Errorf("%s%s: %s, want %s", c.price, c.adjustment, faults, c.fault)
			continue
		}
		if c.fault != "" {
			continue
		}
		got := catalog.Overlaid(oneType(), nil, []catalog.Overlay{value})[0].Offerings[0].Price
		if diff := got - c.want; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%s%s: $2 becomes %g, want %g", c.price, c.adjustment, got, c.want)
		}
	}
}

func oneType() []*catalog.Type {
	return []*catalog.Type{{
		Name: "m", Requirements: requirement.NewSet(requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, "m")),
		Capacity:  corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
		Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: 2, Available: true}},
	}}
}

// An overlay counts once it is Ready; then the types of a pool are the same values until the
// pool's labels, the overlays or the cloud's types change.
func TestOverlaysCountWhenTheyAreReady(t *testing.T) {
	s, types := NewStore(), oneType()
	s.Update(&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}})
	o := &overlayv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "o", ResourceVersion: "1"}}
	o.Spec.Capacity = corev1.ResourceList{"example.com/slots": resource.MustParse("2")}
	s.Update(o)
	if got := s.Types("p", types); got[0] != types[0] {
		t.Error("an overlay counts that nothing has validated")
	}
	o = o.DeepCopy()
	o.ResourceVersion = "2"
	o.StatusConditions().SetTrue(overlayv1alpha1.ConditionTypeValidationSucceeded)
	if !o.StatusConditions().IsTrue(status.ConditionReady) {
		t.Fatal("not ready")
	}
	s.Update(o)
	got := s.Types("p", types)
	if slots := got[0].Capacity["example.com/slots"]; slots.Value() != 2 || got[0] == types[0] {
		t.Errorf("there are %v", got[0].Capacity)
	}
	if again := s.Types("p", types); !slices.Equal(again, got) {
		t.Error("the same is made anew")
	}
	if other := s.Types("p", oneType()); slices.Equal(other, got) {
		t.Error("other types of the cloud are not seen")
	}
	if none := s.Types("gone", types); none[0] != types[0] {
		t.Error("overlays count for a pool that is not there")
	}
	s.Delete(o)
	if none := s.Types("p", types); none[0] != types[0] {
		t.Error("an overlay counts that is gone")
	}
}
