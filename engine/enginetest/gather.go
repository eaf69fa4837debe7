package enginetest

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
)

// gather adds beside whom a pod may be, and what it prefers:
//
//	spread=KEY:SKEW:ABOUT/...    anyway min:3 affinity:Ignore taints:Honor match:LABEL
//	apart=KEY:ABOUT/...          weight:10 namespace:ns namespaces:k:v match:LABEL mismatch:LABEL
//	near=KEY:ABOUT/...           as apart
//	prefer=10:zone:In:a|5:name:In:n1
//
// ABOUT is the selector: app:web, app:web|api for one of several, app for the
// label alone, all for every pod, none for a selector that is missing. What
// follows a slash is a field of the constraint; namespaces:all is an empty
// namespaceSelector, namespaces:name:ns one for the label that every namespace has.
func gather(t testing.TB, c storytest.Command, p *corev1.Pod) {
	t.Helper()
	for _, entry := range list(c.Options["spread"]) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, spread(t, entry))
	}
	for _, entry := range list(c.Options["near"]) {
		a := affinity(p)
		if a.PodAffinity == nil {
			a.PodAffinity = &corev1.PodAffinity{}
		}
		if term, weight := podTerm(t, entry); weight == 0 {
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, term)
		} else {
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term})
		}
	}
	for _, entry := range list(c.Options["apart"]) {
		a := affinity(p)
		if a.PodAntiAffinity == nil {
			a.PodAntiAffinity = &corev1.PodAntiAffinity{}
		}
		if term, weight := podTerm(t, entry); weight == 0 {
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, term)
		} else {
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term})
		}
	}
	prefer(t, c, p)
}

func prefer(t testing.TB, c storytest.Command, p *corev1.Pod) {
	t.Helper()
	if !c.Has("prefer") {
		return
	}
	a := affinity(p)
	if a.NodeAffinity == nil {
		a.NodeAffinity = &corev1.NodeAffinity{}
	}
	for _, entry := range strings.Split(c.Options["prefer"], "|") {
		weight, term, _ := strings.Cut(entry, ":")
		a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: int32(storytest.Number(t, weight)), Preference: selectorTerm(term)})
	}
}

// spread reads KEY:SKEW:ABOUT and the fields after slashes.
func spread(t testing.TB, entry string) corev1.TopologySpreadConstraint {
	t.Helper()
	fields := strings.Split(entry, "/")
	words := strings.SplitN(fields[0], ":", 3)
	out := corev1.TopologySpreadConstraint{
		TopologyKey: labelName(words[0]), MaxSkew: int32(storytest.Number(t, words[1])), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: about(words[2])}
	for _, field := range fields[1:] {
		name, value, _ := strings.Cut(field, ":")
		switch name {
		case "anyway":
			out.WhenUnsatisfiable = corev1.ScheduleAnyway
		case "min":
			out.MinDomains = ptr.To(int32(storytest.Number(t, value)))
		case "affinity":
			out.NodeAffinityPolicy = ptr.To(corev1.NodeInclusionPolicy(value))
		case "taints":
			out.NodeTaintsPolicy = ptr.To(corev1.NodeInclusionPolicy(value))
		case "match":
			out.MatchLabelKeys = append(out.MatchLabelKeys, value)
		default:
			t.Fatalf("spread %s: unknown field %s", entry, name)
		}
	}
	return out
}

// podTerm reads KEY:ABOUT and the fields after slashes; the weight is zero for a
// term that is required.
func podTerm(t testing.TB, entry string) (corev1.PodAffinityTerm, int32) {
	t.Helper()
	fields := strings.Split(entry, "/")
	key, who, _ := strings.Cut(fields[0], ":")
	out, weight := corev1.PodAffinityTerm{TopologyKey: labelName(key), LabelSelector: about(who)}, int32(0)
	for _, field := range fields[1:] {
		name, value, _ := strings.Cut(field, ":")
		switch name {
		case "weight":
			weight = int32(storytest.Number(t, value))
		case "namespace":
			out.Namespaces = append(out.Namespaces, value)
		case "namespaces":
			out.NamespaceSelector = about(strings.Replace(value, "name:", corev1.LabelMetadataName+":", 1))
		case "match":
			out.MatchLabelKeys = append(out.MatchLabelKeys, value)
		case "mismatch":
			out.MismatchLabelKeys = append(out.MismatchLabelKeys, value)
		default:
			t.Fatalf("%s: unknown field %s", entry, name)
		}
	}
	return out, weight
}

// about reads a label selector.
func about(s string) *metav1.LabelSelector {
	key, value, valued := strings.Cut(s, ":")
	switch {
	case s == "none":
		return nil
	case s == "all":
		return &metav1.LabelSelector{}
	case !valued:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpExists}}}
	case strings.Contains(value, "|"):
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpIn, Values: strings.Split(value, "|")}}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}
