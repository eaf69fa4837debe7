package disruption

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestAPriceIsTheCataloguesAndElseTheNodesOwn(t *testing.T) {
	pool := &snapshot.Pool{Types: []*catalog.Type{{Name: "known", Offerings: []catalog.Offering{{Zone: "a", CapacityType: "spot", Price: 0.5}}}}}
	for name, row := range map[string]struct {
		instanceType, zone, label string
		want                      float64
	}{
		"the catalogue has it":              {"known", "a", "0.7", 0.5},
		"the catalogue lacks the zone":      {"known", "b", "0.7", 0.7},
		"the catalogue lacks the type":      {"retired", "a", "0.7", 0.7},
		"neither knows":                     {"retired", "a", "", 0},
		"the label is no price":             {"retired", "a", "cheap", 0},
		"the label is not a number":         {"retired", "a", "NaN", 0},
		"the label is below zero":           {"retired", "a", "-1", 0},
		"the label is beyond every account": {"retired", "a", "Inf", 0},
	} {
		node := &snapshot.Node{Name: "n", Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{
			corev1.LabelInstanceTypeStable: row.instanceType, corev1.LabelTopologyZone: row.zone,
			catalog.CapacityTypeLabel: "spot", "eks-node-viewer/instance-price": row.label,
		}}}}
		if got := Price(pool, node); got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
