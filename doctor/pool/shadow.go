package pool

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// mostWeight is the largest that a NodePool may have.
const mostWeight = 100

func weight(np *karpv1.NodePool) int32 {
	if np.Spec.Weight == nil {
		return 0
	}
	return *np.Spec.Weight
}

// InTheShadow are those whose pods a pool of a higher weight takes first, all of them.
func InTheShadow(pools []*karpv1.NodePool) []finding.Finding {
	var out []finding.Finding
	for _, np := range pools {
		for _, other := range pools {
			if weight(other) <= weight(np) || !covers(other, np) {
				continue
			}
			f := finding.Finding{
				Severity: finding.Warning, Object: finding.RefOf("NodePool", np), Field: "spec.weight",
				Message: fmt.Sprintf("is %d, that of nodepool/%s %d, which may launch all that this pool may, for the same pods and without a limit: this one launches only for pods that name it", weight(np), other.Name, weight(other)),
				Advice:  "give it a higher weight, or the other one a limit",
			}
			if weight(other) < mostWeight {
				f.Patch = &finding.Patch{Object: f.Object, Steps: []finding.Step{finding.Op("add", "/spec/weight", weight(other)+1)}}
			}
			out = append(out, f)
			break
		}
	}
	return out
}

// covers reports whether a pool takes every pod that another one takes, and may launch all that
// the other may.
func covers(by, np *karpv1.NodePool) bool {
	if len(by.Spec.Limits) > 0 || by.Spec.Replicas != nil || np.Spec.Replicas != nil || !maps.Equal(by.Spec.Template.Labels, np.Spec.Template.Labels) {
		return false
	}
	for _, t := range by.Spec.Template.Spec.Taints {
		if !slices.ContainsFunc(np.Spec.Template.Spec.Taints, func(x corev1.Taint) bool { return x.MatchTaint(&t) && x.Value == t.Value }) {
			return false
		}
	}
	narrow := cluster.Pool(np, cluster.Options{Offline: true}).Requirements
	for _, wants := range cluster.Pool(by, cluster.Options{Offline: true}).Requirements.Without(snapshot.PoolLabel) {
		if has, ok := narrow.Lookup(wants.Key()); !ok || !has.Implies(wants) {
			return false
		}
	}
	return true
}
