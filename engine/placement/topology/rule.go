package topology

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

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

func (k Kind) String() string {
	return [...]string{Spread: "spread", Affinity: "affinity", AntiAffinity: "anti-affinity"}[k]
}

// Rule is one constraint of one kind of pod. It is immutable.
type Rule struct {
	Kind Kind
	// Key is the node label whose values are the domains.
	Key string
	// ID is equal for rules that are the same, whichever pods declare them.
	ID string
	// MaxSkew and MinDomains are those of a spread; MinDomains is zero if there is
	// no minimum.
	MaxSkew, MinDomains int
	// HonorTaints and IgnoreAffinity say which nodes a spread counts: by default
	// all that the pod's node affinity accepts, whatever their taints.
	HonorTaints, IgnoreAffinity bool
	// ByDefault says that no pod states the spread: the cluster has it for pods without any.
	ByDefault bool
	// Beside are the labels, sorted, that a node needs besides Key for a spread to
	// count it: those of the pod's other spreads.
	Beside []string

	// about says whom the rule selects: those that every aim matches. The
	// affinities of a pod select together, as all of them have to be about the pod
	// that is there.
	about []aim
	// claim is what the rule selects by instead, if it has a name: the pods that
	// mount it.
	claim types.NamespacedName
}

// OneZone is the rule that pods which mount a claim are in one zone: its volume is
// still to be made, and will be reached from one zone only.
func OneZone(claim types.NamespacedName) Demand {
	return Demand{Rule: Rule{Kind: Affinity, Key: corev1.LabelTopologyZone, ID: "claim/" + claim.String(), claim: claim}}
}

// aim is a selector and where it looks.
type aim struct {
	namespaces []string // sorted; nil is every namespace
	selector   labels.Selector
}

func (a *aim) matches(s *snapshot.Shape) bool {
	if a.namespaces != nil {
		if _, ok := slices.BinarySearch(a.namespaces, s.Namespace); !ok {
			return false
		}
	}
	return a.selector.Matches(labels.Set(s.Labels))
}

func (a *aim) String() string {
	switch about := a.selector.String(); {
	case a.selector.Empty():
		return "all pods"
	case about == "":
		return "no pods"
	default:
		return about
	}
}

// id tells aims apart, which String need not.
func (a *aim) id() string {
	if a.namespaces == nil {
		return "*/" + a.selector.String()
	}
	return strings.Join(a.namespaces, ",") + "/" + a.selector.String()
}

// Selects reports whether the rule is about a pod. A spread whose selector is
// empty selects no pod: that is how the scheduler counts.
func (r *Rule) Selects(s *snapshot.Shape) bool {
	if r.claim.Name != "" {
		return s.Namespace == r.claim.Namespace && slices.ContainsFunc(s.VolumeClaims, func(c snapshot.VolumeClaim) bool { return c.Name == r.claim.Name })
	}
	for i := range r.about {
		if !r.about[i].matches(s) || r.Kind == Spread && r.about[i].selector.Empty() {
			return false
		}
	}
	return true
}

// PerNode reports whether every node is a domain of its own.
func (r *Rule) PerNode() bool { return r.Key == corev1.LabelHostname }

// String reads like "spread of app=web over topology.kubernetes.io/zone, maxSkew
// 1".
func (r *Rule) String() string {
	if r.claim.Name != "" {
		return fmt.Sprintf("shared claim %s in one %s", r.claim, r.Key)
	}
	names := make([]string, len(r.about))
	for i := range r.about {
		names[i] = r.about[i].String()
	}
	about := strings.Join(slices.Compact(names), " and ")
	if r.Kind == Spread {
		by := ""
		if r.ByDefault {
			by = ", the cluster's default"
		}
		return fmt.Sprintf("spread of %s over %s, maxSkew %d%s", about, r.Key, r.MaxSkew, by)
	}
	return fmt.Sprintf("%s to %s in one %s", r.Kind, about, r.Key)
}

// Anchor is a label and its value without which the rule selects no pod; ok is
// false if there is none.
func (r *Rule) Anchor() (key, value string, ok bool) {
	for i := range r.about {
		requirements, _ := r.about[i].selector.Requirements()
		for _, want := range requirements {
			if op := want.Operator(); op != selection.In && op != selection.Equals && op != selection.DoubleEquals {
				continue
			}
			if values := want.ValuesUnsorted(); len(values) == 1 {
				return want.Key(), values[0], true
			}
		}
	}
	return "", "", false
}
