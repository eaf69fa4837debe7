package disruption

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/disruption/deletioncost"
)

// Deletion costs are written at a rate that other writes do not notice, in pods per second, which
// is Karpenter's fifty nodes a minute; what is over waits for the next pass. After a
// refusal none are written for a while.
const (
	costsPerSecond = 25
	costsBurst     = 10 * costsPerSecond
	costsPause     = time.Minute
)

// deletionCosts writes what ReplicaSets go by when they scale in, for which the controller
// needs the ClusterRole millwright-deletion-costs.
func (d *Disruptor) deletionCosts(ctx context.Context, decision *disruption.Decision) error {
	changes := decision.DeletionCosts
	d.Metrics.DeletionCostsPending(nodes(changes))
	now := 0
	for now < len(changes) && !d.Clock.Now().Before(d.costsPaused) && d.costs.TryAccept() {
		now++
	}
	if now == 0 {
		return nil
	}
	errs := make([]error, now)
	errs[0] = d.deletionCost(ctx, changes[0]) // what is refused is refused once
	if errs[0] == nil {
		loop.SideBySide(now-1, func(i int) { errs[i+1] = d.deletionCost(ctx, changes[i+1]) })
	}
	err := errors.Join(errs...)
	if err != nil {
		d.costsPaused = d.Clock.Now().Add(costsPause)
	}
	return err
}

// nodes counts those of each pool that have pods to write. Changes are in the order of nodes.
func nodes(changes []deletioncost.Change) map[string]int {
	out := map[string]int{}
	for i, c := range changes {
		if i == 0 || c.Node != changes[i-1].Node {
			out[c.Node.Pool()]++
		}
	}
	return out
}

func (d *Disruptor) deletionCost(ctx context.Context, c deletioncost.Change) error {
	err := d.Writer.Pod(ctx, c.Pod.Pod, c.Apply)
	result := metrics.CostError
	switch {
	case err == nil:
		result = metrics.CostUpdated
	case apierrors.IsNotFound(err):
		result, err = metrics.CostNotFound, nil
	case apierrors.IsConflict(err):
		result, err = metrics.CostConflict, nil
	default:
		err = fmt.Errorf("writing the deletion cost of pod %s/%s: %w", c.Pod.Namespace, c.Pod.Name, err)
	}
	d.Metrics.DeletionCostWritten(result)
	return err
}
