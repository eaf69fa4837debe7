package disruption

import (
	"context"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/disruption/drift"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// reported is the cloud's own reason why a machine has drifted; empty if it has
// none, and what it said last if it cannot tell.
func (d *Disruptor) reported(ctx context.Context, c *snapshot.Claim) string {
	p, ok := cloud.As[cloud.Drifter](d.Provider)
	if !ok || c.ProviderID == "" {
		return drift.Reported(c)
	}
	reason, err := p.Drifted(ctx, c.ProviderID)
	if err != nil {
		return drift.Reported(c)
	}
	return reason
}
