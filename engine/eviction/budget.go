package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Budgets answers for a set of PodDisruptionBudgets what the eviction API would.
// It is immutable and safe for concurrent use.
type Budgets struct {
	byNamespace map[string][]budget
}

type budget struct {
	*policyv1.PodDisruptionBudget
	selector labels.Selector
}

// NewBudgets reads PDBs, in their given order. One whose selector cannot be read
// guards every pod of its namespace.
func NewBudgets(pdbs []*policyv1.PodDisruptionBudget) *Budgets {
	b := &Budgets{byNamespace: map[string][]budget{}}
	for _, pdb := range pdbs {
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err != nil {
			selector = labels.Everything()
		}
		b.byNamespace[pdb.Namespace] = append(b.byNamespace[pdb.Namespace], budget{pdb, selector})
	}
	return b
}

// Blocking are the budgets that forbid the eviction of a pod now; none if it may
// go. More than one budget over a pod forbids its eviction for ever: the API
// refuses to choose.
func (b *Budgets) Blocking(p *corev1.Pod) []*policyv1.PodDisruptionBudget {
	over := b.Over(p)
	if len(over) == 1 && allows(over[0], p) {
		return nil
	}
	return over
}

// Over are the budgets that are asked before a pod is evicted.
func (b *Budgets) Over(p *corev1.Pod) []*policyv1.PodDisruptionBudget {
	if exempt(p) {
		return nil
	}
	var over []*policyv1.PodDisruptionBudget
	for _, pdb := range b.byNamespace[p.Namespace] {
		if pdb.selector.Matches(labels.Set(p.Labels)) {
			over = append(over, pdb.PodDisruptionBudget)
		}
	}
	return over
}

// exempt are pods that the API evicts without asking budgets.
func exempt(p *corev1.Pod) bool {
	return Terminal(p) || p.Status.Phase == corev1.PodPending || Terminating(p)
}

func allows(pdb *policyv1.PodDisruptionBudget, p *corev1.Pod) bool {
	// The API waits for the controller to look at a budget that has changed.
	if pdb.Status.DisruptionsAllowed > 0 && pdb.Status.ObservedGeneration >= pdb.Generation {
		return true
	}
	if ready(p) {
		return false
	}
	policy := pdb.Spec.UnhealthyPodEvictionPolicy
	if policy != nil && *policy == policyv1.AlwaysAllow {
		return true
	}
	return pdb.Status.DesiredHealthy > 0 && pdb.Status.CurrentHealthy >= pdb.Status.DesiredHealthy
}

// Never reports whether a budget lets no pod go even if all of them are healthy,
// with the number that it demands and the number that there are to be. A budget
// that has not been looked at yet by its controller is given the benefit of the
// doubt.
func Never(pdb *policyv1.PodDisruptionBudget) (demands, pods int32, never bool) {
	s := pdb.Status
	return s.DesiredHealthy, s.ExpectedPods, s.ExpectedPods > 0 && s.DesiredHealthy >= s.ExpectedPods
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
