package nodeoverlay_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/controllers/nodeoverlay"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

func overlay(name, price, key, value string) *overlayv1alpha1.NodeOverlay {
	o := &overlayv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	o.Spec.Price = &price
	o.Spec.Requirements = []overlayv1alpha1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}
	return o
}

// Only overlays that mean something and contradict none count; the others say why they do not,
// until that is mended.
func TestOverlaysThatCount(t *testing.T) {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	pool.Spec.Template.Labels = map[string]string{"team": "blue"}
	short := overlay("short", "1", "team", "red")
	short.Spec.Capacity = corev1.ResourceList{"example.com/slots": resource.MustParse("-2")}
	r := looptest.New(t, pool, short,
		overlay("a", "1", corev1.LabelInstanceTypeStable, "m"), overlay("b", "2", "team", "blue"),
		overlay("elsewhere", "3", "team", "red"), overlay("garbled", "dear", "team", "blue"))
	r.Offered = []*catalog.Type{{
		Name: "m", Requirements: requirement.NewSet(requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, "m")),
		Offerings: []catalog.Offering{{Zone: "z", CapacityType: catalog.OnDemand, Price: 4, Available: true}},
	}}
	look := func(want map[string]string, price float64) {
		t.Helper()
		_, err := nodeoverlay.New(r.Deps).Reconcile(context.Background(), reconcile.Request{})
		r.Must(err)
		for name, said := range want {
			o := &overlayv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: name}}
			r.Get(o)
			c := o.StatusConditions().Get(overlayv1alpha1.ConditionTypeValidationSucceeded)
			if got := string(c.Status) + " " + c.Reason + " " + c.Message; got != said {
				t.Errorf("%s: %s, want %s", name, got, said)
			}
		}
		if got := r.Store.Types("web", r.Offered)[0].Offerings[0].Price; got != price {
			t.Errorf("the price is %g, want %g", got, price)
		}
	}
	look(map[string]string{
		"a":         "False Conflict NodeOverlay b has the same weight and changes prices or capacity of the same instance types",
		"b":         "True ValidationSucceeded ",
		"elsewhere": "True ValidationSucceeded ",
		"short":     "False RuntimeValidation spec.capacity[example.com/slots]: -2 is negative",
		"garbled":   `False RuntimeValidation spec.price: "dear" is not a price in $/h`,
	}, 2)
	b := &overlayv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	r.Must(r.Client.Delete(context.Background(), b))
	r.Sync()
	look(map[string]string{"a": "True ValidationSucceeded "}, 1)
}
