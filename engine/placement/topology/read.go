package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Demand is a rule as a pod states it.
type Demand struct {
	Rule
	// Weight is zero for a rule that is required, and otherwise how much the pod
	// prefers it, 1 to 100.
	Weight int
}

// FullWeight is that of a preference that states none.
const FullWeight = 100

// reader reads the rules of one shape, up to the first that cannot be read.
type reader struct {
	shape      *snapshot.Shape
	namespaces map[string]map[string]string
	out        []Demand
	err        error
}

// DemandsOf are the rules that pods of a shape own: spreads, affinity, anti-affinity.
// namespaces are the labels of the cluster's namespaces.
func DemandsOf(s *snapshot.Shape, namespaces map[string]map[string]string) ([]Demand, error) {
	r := &reader{shape: s, namespaces: namespaces}
	r.spreads()
	if a := s.Affinity; a != nil && a.PodAffinity != nil {
		r.together(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		r.preferred(Affinity, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := s.Affinity; a != nil && a.PodAntiAffinity != nil {
		required := a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		for i := range required {
			r.term("pod anti-affinity term", i, AntiAffinity, &required[i], 0)
		}
		r.preferred(AntiAffinity, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.out, nil
}

// add takes a rule, the i-th of its kind, unless it cannot be read.
func (r *reader) add(what string, i int, d *Demand, err error) {
	switch {
	case err == nil:
		r.out = append(r.out, *d)
	case r.err == nil:
		r.err = fmt.Errorf("%s %d: %w", what, i+1, err)
	}
}

// spreads reads the spread constraints.
func (r *reader) spreads() {
	var keys []string
	for i := range r.shape.Spread {
		if c := &r.shape.Spread[i]; c.WhenUnsatisfiable != corev1.ScheduleAnyway {
			keys = append(keys, requirement.NormalizeKey(c.TopologyKey))
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for i := range r.shape.Spread {
		c, d := &r.shape.Spread[i], Demand{}
		if c.WhenUnsatisfiable == corev1.ScheduleAnyway {
			d.Weight = FullWeight
		} else {
			d.Beside = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == requirement.NormalizeKey(c.TopologyKey) })
		}
		r.add("topology spread constraint", i, &d, r.spread(&d.Rule, c))
	}
}

func (r *reader) spread(to *Rule, c *corev1.TopologySpreadConstraint) error {
	to.Kind, to.Key, to.MaxSkew, to.ByDefault = Spread, requirement.NormalizeKey(c.TopologyKey), int(c.MaxSkew), r.shape.SpreadByDefault
	to.HonorTaints = c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	to.IgnoreAffinity = c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore
	if c.MinDomains != nil {
		to.MinDomains = int(*c.MinDomains)
	}
	sel, err := selector(c.LabelSelector, r.shape.Labels, c.MatchLabelKeys, nil)
	if err != nil {
		return err
	}
	to.about = []aim{{[]string{r.shape.Namespace}, sel}}
	to.ID = fmt.Sprintf("spread/%s/%s/%d/%d/%s", to.Key, to.about[0].id(), to.MaxSkew, to.MinDomains, strings.Join(to.Beside, ","))
	if to.ByDefault {
		to.ID += "/default"
	}
	// Which nodes count depends on the owner, unless it says otherwise.
	if !to.IgnoreAffinity {
		to.ID += "/" + fmt.Sprint(r.shape.Terms)
	}
	if to.HonorTaints {
		to.ID += "/" + fmt.Sprint(r.shape.Tolerations)
	}
	return nil
}

// together reads required affinity, whose terms select together.
func (r *reader) together(terms []corev1.PodAffinityTerm) {
	first := len(r.out)
	for i := range terms {
		r.term("pod affinity term", i, Affinity, &terms[i], 0)
	}
	var about []aim
	for _, d := range r.out[first:] {
		about = append(about, d.about...)
	}
	slices.SortFunc(about, func(a, b aim) int { return strings.Compare(a.id(), b.id()) })
	about = slices.CompactFunc(about, func(a, b aim) bool { return a.id() == b.id() })
	for i := first; i < len(r.out); i++ {
		r.out[i].about = about
		r.out[i].identify()
	}
}

func (r *reader) preferred(kind Kind, terms []corev1.WeightedPodAffinityTerm) {
	for i := range terms {
		r.term(fmt.Sprintf("preferred pod %s term", kind), i, kind, &terms[i].PodAffinityTerm, int(terms[i].Weight))
	}
}

// term reads a term of affinity or anti-affinity.
func (r *reader) term(what string, i int, kind Kind, t *corev1.PodAffinityTerm, weight int) {
	sel, err := selector(t.LabelSelector, r.shape.Labels, t.MatchLabelKeys, t.MismatchLabelKeys)
	namespaces, wrong := r.namespacesOf(t)
	d := Demand{Rule{Kind: kind, Key: requirement.NormalizeKey(t.TopologyKey), about: []aim{{namespaces, sel}}}, weight}
	if err = errors.Join(err, wrong); err == nil {
		d.identify()
	}
	r.add(what, i, &d, err)
}

// identify makes the ID of a rule that depends on nothing but its aims.
func (r *Rule) identify() {
	r.ID = fmt.Sprintf("%s/%s", r.Kind, r.Key)
	for i := range r.about {
		r.ID += "/" + r.about[i].id()
	}
}

// namespacesOf are those that a term names and those that its selector selects;
// the pod's own if it has neither. Nil is all of them.
func (r *reader) namespacesOf(t *corev1.PodAffinityTerm) ([]string, error) {
	if t.NamespaceSelector == nil && len(t.Namespaces) == 0 {
		return []string{r.shape.Namespace}, nil
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
		for name, set := range r.namespaces {
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
	if written == nil || len(match) == 0 && len(mismatch) == 0 {
		return metav1.LabelSelectorAsSelector(written)
	}
	all := written.DeepCopy()
	add := func(keys []string, op metav1.LabelSelectorOperator) {
		for _, key := range keys {
			if v, ok := own[key]; ok {
				all.MatchExpressions = append(all.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: op, Values: []string{v}})
			}
		}
	}
	add(match, metav1.LabelSelectorOpIn)
	add(mismatch, metav1.LabelSelectorOpNotIn)
	return metav1.LabelSelectorAsSelector(all)
}
