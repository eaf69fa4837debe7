// Package spread gives pods that state no topology spread constraints those that kube-scheduler
// has for them: the defaultConstraints of its plugin PodTopologySpread.
//
//	Defaults, what selects the pod ──► the pod's constraints, or none
//
// A default constraint is about the pods that the pod's Services and its controller select. It
// holds for no pod of which nothing can be said that way, and for none that has a constraint of
// its own.
package spread

import (
	"iter"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Defaults are the constraints, without selectors.
type Defaults []corev1.TopologySpreadConstraint

// For are the constraints of a pod with these labels that states none. services are the selectors
// of Services in its namespace, in any order; owner is that of its ReplicationController,
// ReplicaSet or StatefulSet, nil if it has none. The constraints share one selector, which must not
// be changed.
func (d Defaults) For(pod map[string]string, services iter.Seq[map[string]string], owner *metav1.LabelSelector) []corev1.TopologySpreadConstraint {
	if len(d) == 0 {
		return nil
	}
	about := Selector(pod, services, owner)
	if about == nil {
		return nil
	}
	out := slices.Clone(d)
	for i := range out {
		out[i].LabelSelector = about
	}
	return out
}

// Selector selects the pods that a default constraint compares a pod with, nil if nothing selects
// it. What selects a pod agrees in the values of its labels.
func Selector(pod map[string]string, services iter.Seq[map[string]string], owner *metav1.LabelSelector) *metav1.LabelSelector {
	about := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for labels := range services {
		if Selects(labels, pod) {
			maps.Copy(about.MatchLabels, labels)
		}
	}
	if owner != nil {
		maps.Copy(about.MatchLabels, owner.MatchLabels)
		about.MatchExpressions = owner.MatchExpressions
	}
	if len(about.MatchLabels)+len(about.MatchExpressions) == 0 {
		return nil
	}
	return about
}

// Selects reports whether a Service's selector selects pods with these labels. A Service without
// one selects none.
func Selects(selector, labels map[string]string) bool {
	for k, v := range selector {
		if has, ok := labels[k]; !ok || has != v {
			return false
		}
	}
	return len(selector) > 0
}
