// Package topology is the rules about who else is near: topology spread, pod
// affinity and pod anti-affinity, as far as they are required.
//
// A [Rule] says whom it is about (namespaces and a selector) and over which
// domains (the values of a node label). A [Ledger] keeps count of who is where,
// and answers which domains are open for one more pod.
//
// What is only preferred (ScheduleAnyway, preferred terms) makes no rule.
package topology

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Kind is what a rule demands.
type Kind int

const (
	// Spread keeps the numbers of selected pods in the domains about equal.
	Spread Kind = iota
	// Affinity wants a selected pod in the domain.
	Affinity
	// AntiAffinity wants none.
	AntiAffinity
)

// Rule is one constraint of one kind of pod. It is immutable.
type Rule struct {
	Kind Kind
	// Key is the node label whose values are the domains.
	Key string
	// ID is equal for rules that are the same, whoever owns them.
	ID string
	// MaxSkew and MinDomains are those of a spread; MinDomains is zero if there is
	// no minimum.
	MaxSkew, MinDomains int
	// HonorTaints and IgnoreAffinity say which nodes a spread counts: by default
	// all that the pod's node affinity accepts, whatever their taints.
	HonorTaints, IgnoreAffinity bool

	namespaces []string // sorted; nil is every namespace
	selector   labels.Selector
}

// Selects reports whether the rule is about a pod.
func (r *Rule) Selects(s *snapshot.Shape) bool {
	if r.namespaces != nil {
		if _, ok := slices.BinarySearch(r.namespaces, s.Namespace); !ok {
			return false
		}
	}
	return r.selector.Matches(labels.Set(s.Labels))
}

// PerNode reports whether every node is a domain of its own.
func (r *Rule) PerNode() bool { return r.Key == corev1.LabelHostname }

// String reads like "spread of app=web over topology.kubernetes.io/zone, maxSkew
// 1".
func (r *Rule) String() string {
	about := r.selector.String()
	if about == "" {
		about = "all pods"
	}
	switch r.Kind {
	case Spread:
		return fmt.Sprintf("spread of %s over %s, maxSkew %d", about, r.Key, r.MaxSkew)
	case Affinity:
		return fmt.Sprintf("affinity to %s in one %s", about, r.Key)
	}
	return fmt.Sprintf("anti-affinity to %s in one %s", about, r.Key)
}

// RulesOf are the rules that pods of a shape own. namespaces are the labels of
// the cluster's namespaces.
func RulesOf(s *snapshot.Shape, namespaces map[string]map[string]string) ([]Rule, error) {
	var out []Rule
	for i := range s.Spread {
		c := &s.Spread[i]
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		r, err := spreadRule(s, c)
		if err != nil {
			return nil, fmt.Errorf("topology spread constraint %d: %w", i+1, err)
		}
		out = append(out, r)
	}
	if s.Affinity == nil {
		return out, nil
	}
	if a := s.Affinity.PodAffinity; a != nil {
		for i := range a.RequiredDuringSchedulingIgnoredDuringExecution {
			r, err := termRule(Affinity, s, &a.RequiredDuringSchedulingIgnoredDuringExecution[i], namespaces)
			if err != nil {
				return nil, fmt.Errorf("pod affinity term %d: %w", i+1, err)
			}
			out = append(out, r)
		}
	}
	if a := s.Affinity.PodAntiAffinity; a != nil {
		for i := range a.RequiredDuringSchedulingIgnoredDuringExecution {
			r, err := termRule(AntiAffinity, s, &a.RequiredDuringSchedulingIgnoredDuringExecution[i], namespaces)
			if err != nil {
				return nil, fmt.Errorf("pod anti-affinity term %d: %w", i+1, err)
			}
			out = append(out, r)
		}
	}
	return out, nil
}

func spreadRule(s *snapshot.Shape, c *corev1.TopologySpreadConstraint) (Rule, error) {
	r := Rule{
		Kind: Spread, Key: requirement.NormalizeKey(c.TopologyKey), MaxSkew: int(c.MaxSkew), namespaces: []string{s.Namespace},
		HonorTaints:    c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
		IgnoreAffinity: c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
	}
	if c.MinDomains != nil {
		r.MinDomains = int(*c.MinDomains)
	}
	var err error
	if r.selector, err = selector(c.LabelSelector, s.Labels, c.MatchLabelKeys, nil); err != nil {
		return r, err
	}
	r.ID = fmt.Sprintf("spread/%s/%s/%s/%d/%d", r.Key, s.Namespace, r.selector, r.MaxSkew, r.MinDomains)
	// Which nodes count depends on the owner, unless it says otherwise.
	if !r.IgnoreAffinity {
		r.ID += "/" + fmt.Sprint(s.Terms)
	}
	if r.HonorTaints {
		r.ID += "/" + fmt.Sprint(s.Tolerations)
	}
	return r, nil
}

func termRule(kind Kind, s *snapshot.Shape, t *corev1.PodAffinityTerm, namespaces map[string]map[string]string) (Rule, error) {
	r := Rule{Kind: kind, Key: requirement.NormalizeKey(t.TopologyKey)}
	var err error
	if r.selector, err = selector(t.LabelSelector, s.Labels, t.MatchLabelKeys, t.MismatchLabelKeys); err != nil {
		return r, err
	}
	if r.namespaces, err = namespacesOf(s, t, namespaces); err != nil {
		return r, err
	}
	about := "*"
	if r.namespaces != nil {
		about = strings.Join(r.namespaces, ",")
	}
	r.ID = fmt.Sprintf("%d/%s/%s/%s", kind, r.Key, about, r.selector)
	return r, nil
}

// namespacesOf are those that a term names and those that its selector selects;
// the pod's own if it has neither. Nil is all of them.
func namespacesOf(s *snapshot.Shape, t *corev1.PodAffinityTerm, namespaces map[string]map[string]string) ([]string, error) {
	if t.NamespaceSelector == nil && len(t.Namespaces) == 0 {
		return []string{s.Namespace}, nil
	}
	out := slices.Clone(t.Namespaces)
	if t.NamespaceSelector != nil {
		sel, err := metav1.LabelSelectorAsSelector(t.NamespaceSelector)
		if err != nil {
			return nil, err
		}
		if sel.Empty() {
			return nil, nil
		}
		for name, set := range namespaces {
			if sel.Matches(labels.Set(set)) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(append([]string{}, out...)), nil
}

// selector adds what the pod's own labels contribute to a label selector.
func selector(written *metav1.LabelSelector, own map[string]string, match, mismatch []string) (labels.Selector, error) {
	sel, err := metav1.LabelSelectorAsSelector(written)
	if err != nil {
		return nil, err
	}
	if written == nil {
		return sel, nil
	}
	add := func(keys []string, op metav1.LabelSelectorOperator) error {
		for _, key := range keys {
			if v, ok := own[key]; ok {
				more, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: []string{v}}}})
				if err != nil {
					return err
				}
				rs, _ := more.Requirements()
				sel = sel.Add(rs...)
			}
		}
		return nil
	}
	if err := add(match, metav1.LabelSelectorOpIn); err != nil {
		return nil, err
	}
	if err := add(mismatch, metav1.LabelSelectorOpNotIn); err != nil {
		return nil, err
	}
	return sel, nil
}
