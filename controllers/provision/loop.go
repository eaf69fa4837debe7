package provision

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// again is the poke by which the loop itself asks for another pass.
const again types.UID = "again"

// Poke asks for a pass on behalf of a pod or node.
func (p *Provisioner) Poke(uid types.UID) {
	if !p.window.poke(uid, p.Clock.Now()) {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default: // the loop is about to look anyway
	}
}

// Start runs passes until the context ends. Pokes that arrive during a pass open
// the next window.
func (p *Provisioner) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		closes, stop := p.At(p.window.closes())
		select {
		case <-ctx.Done():
		case <-p.wake:
		case <-closes:
			p.window.close()
			p.run(ctx)
		}
		stop()
	}
	return nil
}

// run makes a pass. One that could not be finished is tried again with the next
// window.
func (p *Provisioner) run(ctx context.Context) {
	err := p.Pass(ctx)
	if err == nil || ctx.Err() != nil {
		return
	}
	if !errors.Is(err, errNotSynced) {
		log.FromContext(ctx).Error(err, "planning pending pods")
	}
	p.Poke(again)
}

// NeedLeaderElection makes the loop run on the leader only.
func (*Provisioner) NeedLeaderElection() bool { return true }
