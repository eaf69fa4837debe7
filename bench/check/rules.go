package check

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// rule is one distinct required constraint with the pods that carry it. Terms
// reach the pod's own namespace only.
type rule struct {
	namespace, key string
	selector       *metav1.LabelSelector
	maxSkew        int32
	carriers       map[*corev1.Pod]bool
}

// distinct collects the constraints of one kind, each once, in the order of the
// pods.
func distinct(all []placed, of func(*corev1.Pod) []rule) []*rule {
	var out []*rule
	byKey := map[string]*rule{}
	for _, p := range all {
		for _, r := range of(p.pod) {
			key := fmt.Sprintf("%s|%s|%d|%s", p.pod.Namespace, r.key, r.maxSkew, metav1.FormatLabelSelector(r.selector))
			if byKey[key] == nil {
				r.namespace, r.carriers = p.pod.Namespace, map[*corev1.Pod]bool{}
				byKey[key] = &r
				out = append(out, &r)
			}
			byKey[key].carriers[p.pod] = true
		}
	}
	return out
}

// domains sorts the plan's machines and pods by the rule's key.
func (r *rule) domains(all []placed, hosts []*host) (map[string]*domain, error) {
	selector, err := metav1.LabelSelectorAsSelector(r.selector)
	if err != nil {
		return nil, fmt.Errorf("reading selector: %w", err)
	}
	out := map[string]*domain{}
	for _, h := range hosts {
		out[h.domain(r.key)] = &domain{}
	}
	for _, p := range all {
		d := out[p.host.domain(r.key)]
		if r.carriers[p.pod] {
			d.carriers = append(d.carriers, p.pod)
		}
		if p.pod.Namespace == r.namespace && selector.Matches(labels.Set(p.pod.Labels)) {
			d.matching = append(d.matching, p.pod)
		}
	}
	return out, r.markEligible(out, hosts)
}

// markEligible finds the domains whose machines one of the carriers selects:
// the default of nodeAffinityPolicy. Carriers of one rule are taken to select
// alike.
func (r *rule) markEligible(domains map[string]*domain, hosts []*host) error {
	for carrier := range r.carriers {
		wants := nodeaffinity.GetRequiredNodeAffinity(carrier)
		for _, h := range hosts {
			ok, err := wants.Match(h.offer.Node)
			if err != nil {
				return fmt.Errorf("pod %s: %w", carrier.Name, err)
			}
			d := domains[h.domain(r.key)]
			d.eligible = d.eligible || ok
		}
		break
	}
	return nil
}

func antiAffinityRules(pod *corev1.Pod) []rule {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return termRules(pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
}

func affinityRules(pod *corev1.Pod) []rule {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAffinity == nil {
		return nil
	}
	return termRules(pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
}

func termRules(terms []corev1.PodAffinityTerm) []rule {
	var out []rule
	for _, t := range terms {
		out = append(out, rule{key: t.TopologyKey, selector: t.LabelSelector})
	}
	return out
}

func spreadRules(pod *corev1.Pod) []rule {
	var out []rule
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == corev1.DoNotSchedule {
			out = append(out, rule{key: c.TopologyKey, selector: c.LabelSelector, maxSkew: c.MaxSkew})
		}
	}
	return out
}
