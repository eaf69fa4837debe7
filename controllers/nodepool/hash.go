package nodepool

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// stamp records the hash of a pool's template in its annotations.
func stamp(np *karpv1.NodePool) {
	metav1.SetMetaDataAnnotation(&np.ObjectMeta, karpv1.NodePoolHashAnnotationKey, np.Hash())
	metav1.SetMetaDataAnnotation(&np.ObjectMeta, karpv1.NodePoolHashVersionAnnotationKey, karpv1.NodePoolHashVersion)
}

// outdated reports whether the pool was last stamped by a controller that
// computes the hash in another way, so that the two cannot be compared.
func outdated(np *karpv1.NodePool) bool {
	return np.Annotations[karpv1.NodePoolHashVersionAnnotationKey] != karpv1.NodePoolHashVersion
}

// restamp carries a claim over to the present way to compute the hash, and
// reports whether that changes it. The claim is taken to be made from the pool
// as it is now, unless it has already been found to have drifted: it then keeps
// its hash, and stays drifted.
func restamp(nc *karpv1.NodeClaim, np *karpv1.NodePool) bool {
	if nc.Annotations[karpv1.NodePoolHashVersionAnnotationKey] == karpv1.NodePoolHashVersion {
		return false
	}
	if nc.Annotations == nil {
		nc.Annotations = map[string]string{}
	}
	nc.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = karpv1.NodePoolHashVersion
	if nc.StatusConditions().Get(karpv1.ConditionTypeDrifted) == nil {
		nc.Annotations[karpv1.NodePoolHashAnnotationKey] = np.Hash()
	}
	return true
}
