package requirement

import corev1 "k8s.io/api/core/v1"

// NormalizeKey maps an alias to the stable label key that nodes carry: the
// beta labels of Kubernetes, and the zone key of the EBS CSI driver, which
// appears in the node affinity of its volumes.
func NormalizeKey(key string) string {
	switch key {
	case corev1.LabelFailureDomainBetaZone, "topology.ebs.csi.aws.com/zone":
		return corev1.LabelTopologyZone
	case corev1.LabelFailureDomainBetaRegion:
		return corev1.LabelTopologyRegion
	case "beta.kubernetes.io/arch":
		return corev1.LabelArchStable
	case "beta.kubernetes.io/os":
		return corev1.LabelOSStable
	case corev1.LabelInstanceType:
		return corev1.LabelInstanceTypeStable
	}
	return key
}
