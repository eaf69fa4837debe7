package disruption

import (
	"context"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools,verbs=get;patch

// remember notes on the pools what is about to be done. If that cannot be noted, nothing
// is done: what would hold it back the next time would be lost.
func (d *Disruptor) remember(ctx context.Context, s *snapshot.Snapshot, decision *disruption.Decision) error {
	for _, p := range s.Pools {
		moves := disruption.Note(s, decision.Commands, p)
		if moves == nil {
			continue
		}
		if err := d.NotePool(ctx, p.Name, cluster.MovesAnnotation, moves); err != nil {
			return err
		}
	}
	return nil
}
