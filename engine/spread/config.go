package spread

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// Parse reads and checks Karpenter's setting about how kube-scheduler is configured, in YAML or
// JSON:
//
//	podTopologySpread:
//	  defaultConstraints:
//	  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
func Parse(document string) (Defaults, error) {
	var doc struct {
		PodTopologySpread struct {
			DefaultConstraints Defaults `json:"defaultConstraints"`
		} `json:"podTopologySpread"`
	}
	if err := yaml.UnmarshalStrict([]byte(document), &doc); err != nil {
		return nil, fmt.Errorf("reading the document: %w", err)
	}
	defaults := doc.PodTopologySpread.DefaultConstraints
	if err := check(defaults).ToAggregate(); err != nil {
		return nil, err
	}
	return defaults, nil
}

// check refuses what kube-scheduler and Karpenter refuse of defaults.
func check(defaults Defaults) field.ErrorList {
	var errs field.ErrorList
	for i, c := range defaults {
		at := field.NewPath("podTopologySpread", "defaultConstraints").Index(i)
		if c.MaxSkew < 1 {
			errs = append(errs, field.Invalid(at.Child("maxSkew"), c.MaxSkew, "must be above zero"))
		}
		if actions := []corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway}; !slices.Contains(actions, c.WhenUnsatisfiable) {
			errs = append(errs, field.NotSupported(at.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, actions))
		}
		for _, wrong := range validation.IsQualifiedName(c.TopologyKey) {
			errs = append(errs, field.Invalid(at.Child("topologyKey"), c.TopologyKey, wrong))
		}
		if c.LabelSelector != nil {
			errs = append(errs, field.Forbidden(at.Child("labelSelector"), "it is deduced for each pod, from its Services and its controller"))
		}
		if len(c.MatchLabelKeys) > 0 {
			errs = append(errs, field.Forbidden(at.Child("matchLabelKeys"), "the selector is deduced for each pod"))
		}
		same := func(o corev1.TopologySpreadConstraint) bool {
			return o.TopologyKey == c.TopologyKey && o.WhenUnsatisfiable == c.WhenUnsatisfiable
		}
		if slices.ContainsFunc(defaults[:i], same) {
			errs = append(errs, field.Duplicate(at, fmt.Sprintf("{%s, %s}", c.TopologyKey, c.WhenUnsatisfiable)))
		}
	}
	return errs
}
