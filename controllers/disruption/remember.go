package disruption

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools,verbs=get;patch

// remember notes on the pools what is about to be done, and returns those on which it could
// not be noted: nothing that would have to be is done there, as what would hold it back the
// next time would be lost.
func (d *Disruptor) remember(ctx context.Context, s *snapshot.Snapshot, decision *disruption.Decision) (held map[string]bool, err error) {
	held = map[string]bool{}
	var errs []error
	for _, p := range s.Pools {
		moves := disruption.Note(s, decision.Commands, p)
		if moves == nil {
			continue
		}
		if err := d.NotePool(ctx, p.Name, cluster.MovesAnnotation, moves); err != nil {
			held[p.Name] = true
			if !loop.Overtaken(err) { // else the next pass knows how the pool has changed
				errs = append(errs, fmt.Errorf("noting on NodePool %s what is moved: %w", p.Name, err))
			}
		}
	}
	return held, errors.Join(errs...)
}
