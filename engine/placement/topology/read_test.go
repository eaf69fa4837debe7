package topology_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestTheFirstRuleThatCannotBeReadIsNamed(t *testing.T) {
	good, bad := &metav1.LabelSelector{}, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Sometimes"}}}
	term := func(s *metav1.LabelSelector) corev1.PodAffinityTerm {
		return corev1.PodAffinityTerm{LabelSelector: s, TopologyKey: corev1.LabelTopologyZone}
	}
	anti := func(a corev1.PodAntiAffinity) snapshot.Shape {
		return snapshot.Shape{Affinity: &corev1.Affinity{PodAntiAffinity: &a}}
	}
	together := snapshot.Shape{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(good), term(bad)}}}}
	spread := together
	spread.Spread = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: bad}}
	namespaces := term(good)
	namespaces.NamespaceSelector = bad
	for want, shape := range map[string]snapshot.Shape{
		"":                             anti(corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(good)}}),
		"topology spread constraint 1": spread,
		"pod affinity term 2":          together,
		"pod anti-affinity term 1":     anti(corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{namespaces}}),
		"preferred pod anti-affinity term 1": anti(corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term(bad)}},
		}),
	} {
		demands, err := topology.DemandsOf(&shape, nil)
		switch {
		case want == "" && (err != nil || len(demands) != 1):
			t.Errorf("%v, %v", demands, err)
		case want != "" && (err == nil || demands != nil || !strings.HasPrefix(err.Error(), want+": ")):
			t.Errorf("%v, %v; want %s", demands, err, want)
		}
	}
}
