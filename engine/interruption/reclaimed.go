package interruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// Risky is how long a spot offering is not asked for again after the cloud has
// taken a machine of it back, as in Karpenter.
const Risky = 3 * time.Minute

// Reclaimed is the offering that the cloud is taking the machine of a response
// back from, if it does: replacements had better be others.
func (r Response) Reclaimed() (catalog.Key, bool) {
	labels := r.Node.Labels()
	return catalog.Key{
		Type: labels[corev1.LabelInstanceTypeStable], Zone: labels[corev1.LabelTopologyZone], CapacityType: labels[catalog.CapacityTypeLabel],
	}, slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Event.Kind == Spot && !v.Event.Over() })
}
