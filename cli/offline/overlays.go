package offline

import (
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Contradicted takes the NodeOverlays out of the store that contradict others, as a controller
// would, and says which.
func Contradicted(store *cluster.Store, look func() *snapshot.Snapshot, objects []manifest.Object) manifest.Errors {
	var overlays []catalog.Overlay
	for _, o := range objects {
		if o, ok := o.Object.(*overlayv1alpha1.NodeOverlay); ok {
			if value, faults := cluster.Overlay(o); len(faults) == 0 {
				overlays = append(overlays, value)
			}
		}
	}
	if len(overlays) == 0 {
		return nil
	}
	var markets []catalog.Market
	for _, p := range look().Pools {
		markets = append(markets, catalog.Market{Labels: p.Labels, Types: p.Types})
	}
	by := catalog.Contradictions(overlays, markets)
	var out manifest.Errors
	for _, o := range objects {
		if _, ok := o.Object.(*overlayv1alpha1.NodeOverlay); ok && by[o.GetName()] != "" {
			store.Delete(o.Object)
			out = append(out, o.Errorf("spec.weight", "%s, so this one does not count", plan.Contradicted(by[o.GetName()])))
		}
	}
	return out
}
