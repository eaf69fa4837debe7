package provision

import (
	"context"
	"encoding/json"

	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// recordUnused records on claims which workloads turn out not to use them, and reports
// whether there are any: what is launched for those is to be planned anew.
func (p *Provisioner) recordUnused(ctx context.Context, s *snapshot.Snapshot, answer *plan.Plan) bool {
	if p.Settings.Observe {
		return false
	}
	recorded := false
	for name, unused := range backoff.FindUnused(s, answer) {
		claim, ok := p.Store.NodeClaim(name)
		if !ok {
			continue
		}
		all, err := json.Marshal(append(backoff.UnusedOf(cluster.Claim(claim)), unused...))
		if err != nil {
			continue // plain data
		}
		_, err = p.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) { nc.Annotations[backoff.UnusedAnnotation] = string(all) })
		switch {
		case loop.Overtaken(err):
			continue // the next plan finds it again
		case err != nil:
			log.FromContext(ctx).Error(err, "recording that a machine is not used", "NodeClaim", name)
			continue
		}
		recorded = true
	}
	return recorded
}
