// Package taints is the rule of taints and tolerations: a pod stays away from a
// node whose NoSchedule and NoExecute taints it does not tolerate.
// PreferNoSchedule is a wish and never keeps a pod away.
package taints

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Untolerated finds the first taint that keeps the pod away.
func Untolerated(taints []corev1.Taint, tolerations []corev1.Toleration) (corev1.Taint, bool) {
	for i := range taints {
		if hard(&taints[i]) && !tolerated(&taints[i], tolerations) {
			return taints[i], true
		}
	}
	return corev1.Taint{}, false
}

// Disliked reports whether there is a PreferNoSchedule taint that the pod does not
// tolerate.
func Disliked(taints []corev1.Taint, tolerations []corev1.Toleration) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectPreferNoSchedule && !tolerated(&t, tolerations)
	})
}

func hard(t *corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
}

func tolerated(taint *corev1.Taint, tolerations []corev1.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return tolerates(&t, taint) })
}

// tolerates follows the API: an empty effect covers all effects, an empty key
// with Exists covers all taints, and an empty operator is Equal. Lt and Gt
// compare integers: the taint's value has to be less, or greater, than the
// toleration's.
func tolerates(t *corev1.Toleration, taint *corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case corev1.TolerationOpExists:
		return true
	case "", corev1.TolerationOpEqual:
		return t.Value == taint.Value
	case corev1.TolerationOpLt:
		return less(taint.Value, t.Value)
	case corev1.TolerationOpGt:
		return less(t.Value, taint.Value)
	}
	return false
}

// less compares integers in their shortest form, the only one that the API takes
// for comparison.
func less(a, b string) bool {
	x, err := strconv.ParseInt(a, 10, 64)
	y, wrong := strconv.ParseInt(b, 10, 64)
	return err == nil && wrong == nil && x < y && strconv.FormatInt(x, 10) == a && strconv.FormatInt(y, 10) == b
}
