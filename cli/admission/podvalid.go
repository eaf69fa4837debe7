package admission

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// ValidatePod finds what an API server refuses in the fields of a pod that decide where
// it runs: requests, node selection, affinity, spreads and tolerations. A value that is
// not known there would otherwise mean something else, or nothing, to a plan.
func ValidatePod(spec *corev1.PodSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(at.Child("containers"), ""))
	}
	for i := range spec.InitContainers {
		errs = append(errs, validateResources(spec.InitContainers[i].Resources, at.Child("initContainers").Index(i).Child("resources"))...)
	}
	for i := range spec.Containers {
		errs = append(errs, validateResources(spec.Containers[i].Resources, at.Child("containers").Index(i).Child("resources"))...)
	}
	for i, c := range spec.TopologySpreadConstraints {
		errs = append(errs, validateSpread(c, at.Child("topologySpreadConstraints").Index(i))...)
	}
	for i, t := range spec.Tolerations {
		errs = append(errs, validateToleration(t, at.Child("tolerations").Index(i))...)
	}
	errs = append(errs, metavalidation.ValidateLabels(spec.NodeSelector, at.Child("nodeSelector"))...)
	if a := spec.Affinity; a != nil {
		errs = append(errs, validateAffinity(a, at.Child("affinity"))...)
	}
	return errs
}

// mostRequested is what a scheduler can count in thousandths; beyond, sums of requests
// overflow.
var mostRequested = resource.MustParse("1P")

func validateResources(r corev1.ResourceRequirements, at *field.Path) field.ErrorList {
	errs := append(validateAmounts(r.Requests, at.Child("requests")), validateAmounts(r.Limits, at.Child("limits"))...)
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		if limit, ok := r.Limits[name]; ok && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(at.Child("requests").Key(string(name)), request.String(), "must be less than or equal to the limit of "+limit.String()))
		}
	}
	return errs
}

func validateAmounts(amounts corev1.ResourceList, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		q := amounts[name]
		refuse := func(why string) { errs = append(errs, field.Invalid(at.Key(string(name)), q.String(), why)) }
		switch {
		case q.Sign() < 0:
			refuse("must not be below zero")
		case q.Cmp(mostRequested) > 0:
			refuse("is more than can be counted; the most is " + mostRequested.String())
		case extended(name) && q.MilliValue()%1000 != 0:
			refuse("must be an integer")
		}
	}
	return errs
}

// extended reports whether a resource is one of devices, of which only whole ones are given.
func extended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), "kubernetes.io/")
}

func validateSpread(c corev1.TopologySpreadConstraint, at *field.Path) field.ErrorList {
	errs := oneOf(c.WhenUnsatisfiable, at.Child("whenUnsatisfiable"), corev1.DoNotSchedule, corev1.ScheduleAnyway)
	errs = append(errs, validateSelector(c.LabelSelector, at.Child("labelSelector"))...)
	for _, policy := range []struct {
		name  string
		value *corev1.NodeInclusionPolicy
	}{{"nodeAffinityPolicy", c.NodeAffinityPolicy}, {"nodeTaintsPolicy", c.NodeTaintsPolicy}} {
		if policy.value != nil {
			errs = append(errs, oneOf(*policy.value, at.Child(policy.name), corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)...)
		}
	}
	if c.TopologyKey == "" {
		errs = append(errs, field.Required(at.Child("topologyKey"), ""))
	}
	if c.MaxSkew < 1 {
		errs = append(errs, field.Invalid(at.Child("maxSkew"), c.MaxSkew, "must be above zero"))
	}
	if c.MinDomains != nil && (*c.MinDomains < 1 || c.WhenUnsatisfiable != corev1.DoNotSchedule) {
		errs = append(errs, field.Invalid(at.Child("minDomains"), *c.MinDomains, "must be above zero, and goes with whenUnsatisfiable: DoNotSchedule only"))
	}
	return errs
}

func validateToleration(t corev1.Toleration, at *field.Path) field.ErrorList {
	errs := oneOf(t.Operator, at.Child("operator"), "", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt)
	errs = append(errs, oneOf(t.Effect, at.Child("effect"), "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
	if t.Key == "" && t.Operator != corev1.TolerationOpExists {
		errs = append(errs, field.Invalid(at.Child("operator"), t.Operator, "must be Exists where there is no key"))
	}
	if t.Operator == corev1.TolerationOpExists && t.Value != "" {
		errs = append(errs, field.Invalid(at.Child("value"), t.Value, "must be empty where the operator is Exists"))
	}
	return errs
}

func validateAffinity(a *corev1.Affinity, at *field.Path) field.ErrorList {
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	var errs field.ErrorList
	if n := a.NodeAffinity; n != nil {
		at := at.Child("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			errs = append(errs, validateNodeSelector(n.RequiredDuringSchedulingIgnoredDuringExecution, at.Child(required))...)
		}
		for i, term := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			at := at.Child(preferred).Index(i)
			errs = append(errs, validateWeight(term.Weight, at)...)
			errs = append(errs, validateNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term.Preference}}, at.Child("preference"))...)
		}
	}
	terms := func(at *field.Path, hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm) {
		for i := range hard {
			errs = append(errs, validateCompany(&hard[i], at.Child(required).Index(i))...)
		}
		for i := range soft {
			at := at.Child(preferred).Index(i)
			errs = append(errs, validateWeight(soft[i].Weight, at)...)
			errs = append(errs, validateCompany(&soft[i].PodAffinityTerm, at.Child("podAffinityTerm"))...)
		}
	}
	if p := a.PodAffinity; p != nil {
		terms(at.Child("podAffinity"), p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		terms(at.Child("podAntiAffinity"), p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return errs
}

func validateCompany(t *corev1.PodAffinityTerm, at *field.Path) field.ErrorList {
	errs := validateSelector(t.LabelSelector, at.Child("labelSelector"))
	errs = append(errs, validateSelector(t.NamespaceSelector, at.Child("namespaceSelector"))...)
	if t.TopologyKey == "" {
		errs = append(errs, field.Required(at.Child("topologyKey"), ""))
	}
	return errs
}

func validateNodeSelector(s *corev1.NodeSelector, at *field.Path) field.ErrorList {
	if _, err := nodeaffinity.NewNodeSelector(s); err != nil {
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, err.Error())}
	}
	return nil
}

func validateSelector(s *metav1.LabelSelector, at *field.Path) field.ErrorList {
	return metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, at)
}

func validateWeight(weight int32, at *field.Path) field.ErrorList {
	if weight < 1 || weight > 100 {
		return field.ErrorList{field.Invalid(at.Child("weight"), weight, "must be from 1 to 100")}
	}
	return nil
}

func oneOf[T ~string](value T, at *field.Path, known ...T) field.ErrorList {
	if slices.Contains(known, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at, value, slices.DeleteFunc(known, func(v T) bool { return v == "" }))}
}
