package disruption

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/awslabs/operatorpkg/status"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// writers bounds how many claims are written at the same time.
const writers = 16

// consolidatable writes the Consolidatable condition of every claim for which it
// has changed: True once the machine has been quiet for consolidateAfter, and
// missing otherwise.
func (d *Disruptor) consolidatable(ctx context.Context, s *snapshot.Snapshot) error {
	var changed []*snapshot.Claim
	for _, n := range s.Nodes {
		if n.Claim == nil || n.Deleting() {
			continue
		}
		_, has := n.Claim.Conditions[snapshot.Consolidatable]
		if is, _ := disruption.Consolidatable(s, n); is != has {
			changed = append(changed, n.Claim)
		}
	}
	errs := make([]error, len(changed))
	slots := make(chan struct{}, writers)
	var running sync.WaitGroup
	for i, c := range changed {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			_, had := c.Conditions[snapshot.Consolidatable]
			errs[i] = d.setConsolidatable(ctx, c.Name, !had)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

func (d *Disruptor) setConsolidatable(ctx context.Context, name string, is bool) error {
	claim, ok := d.Store.NodeClaim(name)
	if !ok {
		return nil
	}
	_, err := d.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
		conditions := nc.StatusConditions(status.WithClock(d.Clock))
		if is {
			conditions.SetTrue(karpv1.ConditionTypeConsolidatable)
			return
		}
		// No dependent of Ready, so that clearing it cannot fail.
		_ = conditions.Clear(karpv1.ConditionTypeConsolidatable)
	})
	if loop.Overtaken(err) {
		return nil // the next pass sees why
	}
	if err != nil {
		return fmt.Errorf("setting Consolidatable of NodeClaim %s: %w", name, err)
	}
	return nil
}
