package loop

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/plan"
)

// What happens to machines is logged in Karpenter's words and under its keys, one info line
// for each step, as runbooks search for them.
const (
	LoggedCreated     = "created nodeclaim"
	LoggedLaunched    = "launched nodeclaim"
	LoggedRegistered  = "registered nodeclaim"
	LoggedInitialized = "initialized nodeclaim"
	LoggedDisrupting  = "disrupting node(s)"
	LoggedDeleted     = "deleted nodeclaim"
)

// Created is told of every claim that is created: it counts and logs it. The reason is one
// of the metrics', keys and values are added to the log line.
func (d Deps) Created(ctx context.Context, reason string, more ...any) func(*karpv1.NodeClaim) {
	return func(claim *karpv1.NodeClaim) {
		d.Metrics.ClaimCreated(reason, claim.Labels[karpv1.NodePoolLabelKey], claim.Annotations[karpv1.NodeClaimMinValuesRelaxedAnnotationKey] == "true")
		keys := append(d.MachineKeys(claim), "NodeClaim", klog.KObj(claim), "planned", claim.Annotations[lifecycle.PlannedAnnotation])
		log.FromContext(ctx).Info(LoggedCreated, append(keys, more...)...)
	}
}

// MachineKeys are the keys and values by which a log line describes a claim's machine: its
// pool, Node, type, zone and price, as far as they are known. The claim itself is named by
// the loop that works on it, or by the caller.
func (d Deps) MachineKeys(claim *karpv1.NodeClaim) []any {
	key := catalog.Key{Type: claim.Labels[corev1.LabelInstanceTypeStable], Zone: claim.Labels[corev1.LabelTopologyZone], CapacityType: claim.Labels[karpv1.CapacityTypeLabelKey]}
	out := []any{"NodePool", claim.Labels[karpv1.NodePoolLabelKey]}
	for _, kv := range [][2]string{
		{"Node", claim.Status.NodeName}, {"provider-id", claim.Status.ProviderID},
		{"instance-type", key.Type}, {"zone", key.Zone}, {"capacity-type", key.CapacityType}, {"price-per-hour", d.price(claim, key)},
	} {
		if kv[1] != "" {
			out = append(out, kv[0], kv[1])
		}
	}
	return out
}

// price is what the machine costs, empty if that is not known.
func (d Deps) price(claim *karpv1.NodeClaim, k catalog.Key) string {
	if k.Type == "" || d.Types == nil {
		return ""
	}
	types, err := d.Types(cluster.ClassRef(claim.Spec.NodeClassRef))
	if err != nil {
		return ""
	}
	for _, t := range d.Store.Types(claim.Labels[karpv1.NodePoolLabelKey], types) {
		if t.Name != k.Type {
			continue
		}
		for _, o := range t.Offerings {
			if o.Zone == k.Zone && o.CapacityType == k.CapacityType {
				return plan.Dollars(o.Price)
			}
		}
	}
	return ""
}
