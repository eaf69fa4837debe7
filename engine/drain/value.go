package drain

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// deletionCost is the annotation by which ReplicaSets choose whom they can spare.
const deletionCost = "controller.kubernetes.io/pod-deletion-cost"

// byValue orders the pods of one wave, of which budgets, the policy or the end of the
// machine may let only some go in time: those first that lose most if their turn does
// not come. These are pods of a higher priority; then those with volumes, which have
// to be detached before they can start elsewhere, and those that ask for more time to
// end; then those with a higher deletion cost.
func byValue(a, b *corev1.Pod) int {
	return cmp.Or(
		cmp.Compare(priority(b), priority(a)),
		cmp.Compare(claimed(b), claimed(a)),
		cmp.Compare(graceOf(b), graceOf(a)),
		cmp.Compare(cost(b), cost(a)),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
	)
}

func priority(p *corev1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// claimed is one for a pod with volumes of its own, zero for others.
func claimed(p *corev1.Pod) int {
	for i := range p.Spec.Volumes {
		if claimOf(p, &p.Spec.Volumes[i]).Name != "" {
			return 1
		}
	}
	return 0
}

// cost is zero where the annotation cannot be read, as for ReplicaSets.
func cost(p *corev1.Pod) int64 {
	n, err := strconv.ParseInt(p.Annotations[deletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return n
}
