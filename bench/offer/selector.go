package offer

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	schedcorev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/bench"
)

// poolSelector is the pool's requirements as a node selector. Gte and Lte,
// which Kubernetes does not have, become Gt and Lt of the neighbouring integer.
func poolSelector(pool *karpv1.NodePool) (*nodeaffinity.NodeSelector, error) {
	term := corev1.NodeSelectorTerm{
		// A term without expressions matches nothing; every node has a pool.
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: karpv1.NodePoolLabelKey, Operator: corev1.NodeSelectorOpExists}},
	}
	for _, r := range pool.Spec.Template.Spec.Requirements {
		e, err := standard(corev1.NodeSelectorRequirement{Key: r.Key, Operator: r.Operator, Values: r.Values})
		if err != nil {
			return nil, fmt.Errorf("pool %s: %w", pool.Name, err)
		}
		term.MatchExpressions = append(term.MatchExpressions, e)
	}
	s, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}})
	if err != nil {
		return nil, fmt.Errorf("pool %s: reading requirements: %w", pool.Name, err)
	}
	return s, nil
}

func standard(e corev1.NodeSelectorRequirement) (corev1.NodeSelectorRequirement, error) {
	var step int64
	switch e.Operator {
	case karpv1.NodeSelectorOpGte:
		e.Operator, step = corev1.NodeSelectorOpGt, -1
	case karpv1.NodeSelectorOpLte:
		e.Operator, step = corev1.NodeSelectorOpLt, 1
	default:
		return e, nil
	}
	if len(e.Values) != 1 {
		return e, fmt.Errorf("requirement on %s needs exactly one bound", e.Key)
	}
	n, err := strconv.ParseInt(e.Values[0], 10, 64)
	if err != nil {
		return e, fmt.Errorf("requirement on %s: %w", e.Key, err)
	}
	e.Values = []string{strconv.FormatInt(n+step, 10)}
	return e, nil
}

// Runs reports whether a pod may run on a node: it tolerates the taints and
// selects the labels. An error is a selector that cannot be read.
func Runs(pod *corev1.Pod, node *corev1.Node) (bool, error) {
	if !Tolerates(pod, node) {
		return false, nil
	}
	return nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
}

// Tolerates reports whether a pod tolerates a node's hard taints.
func Tolerates(pod *corev1.Pod, node *corev1.Node) bool {
	hard := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	_, untolerated := schedcorev1.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, hard, false)
	return !untolerated
}

// labelsAsked are the label keys that pods and pools select.
func labelsAsked(p *bench.Problem) map[string]bool {
	asked := map[string]bool{}
	for _, pool := range p.Pools {
		for _, r := range pool.Spec.Template.Spec.Requirements {
			asked[r.Key] = true
		}
	}
	for _, pod := range p.Pods {
		askedByPod(asked, &pod.Spec)
	}
	for _, ds := range p.DaemonSets {
		askedByPod(asked, &ds.Spec.Template.Spec)
	}
	return asked
}

func askedByPod(asked map[string]bool, spec *corev1.PodSpec) {
	for key := range spec.NodeSelector {
		asked[key] = true
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			asked[e.Key] = true
		}
	}
}
