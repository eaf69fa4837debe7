package spread

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type set = map[string]string

// kube-scheduler's plugin deduces the same selectors.
func TestADefaultIsAboutThePodsThatServicesAndTheControllerSelect(t *testing.T) {
	tiers := []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"back", "front"}}}
	pod := set{"app": "web", "tier": "front", "pod-template-hash": "6f"}
	for name, c := range map[string]struct {
		services []set
		owner    *metav1.LabelSelector
		want     string
	}{
		"nothing selects it":                 {nil, nil, "<none>"},
		"a Service":                          {[]set{{"app": "web"}}, nil, "app=web"},
		"two Services":                       {[]set{{"app": "web"}, {"tier": "front"}}, nil, "app=web,tier=front"},
		"a Service of others":                {[]set{{"app": "api"}, {"app": "web", "tier": "back"}}, nil, "<none>"},
		"a Service without a selector":       {[]set{nil, {}}, nil, "<none>"},
		"a controller":                       {nil, &metav1.LabelSelector{MatchLabels: set{"app": "web", "pod-template-hash": "6f"}}, "app=web,pod-template-hash=6f"},
		"a controller with expressions":      {nil, &metav1.LabelSelector{MatchExpressions: tiers}, "tier in (back,front)"},
		"a controller that selects all pods": {nil, &metav1.LabelSelector{}, "<none>"},
		"both":                               {[]set{{"tier": "front"}}, &metav1.LabelSelector{MatchLabels: set{"app": "web"}, MatchExpressions: tiers}, "app=web,tier=front,tier in (back,front)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := metav1.FormatLabelSelector(Selector(pod, slices.Values(c.services), c.owner)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestEveryDefaultGetsTheSelectorAndTheDefaultsKeepNone(t *testing.T) {
	d := Defaults{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway}, {MaxSkew: 3, TopologyKey: "host", WhenUnsatisfiable: corev1.DoNotSchedule}}
	got := d.For(set{"app": "web"}, slices.Values([]set{{"app": "web"}}), nil)
	for i := range got {
		if metav1.FormatLabelSelector(got[i].LabelSelector) != "app=web" || got[i].TopologyKey != d[i].TopologyKey || d[i].LabelSelector != nil {
			t.Errorf("constraint %d is %v of %v", i, got[i], d[i])
		}
	}
	if len(got) != 2 {
		t.Errorf("got %v", got)
	}
	if got := d.For(set{"app": "web"}, slices.Values([]set{}), nil); got != nil {
		t.Errorf("a pod that nothing selects got %v", got)
	}
}
