package provision

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// again is the trigger by which the loop itself asks for another pass.
const again types.UID = "again"

// Trigger asks for a pass on behalf of a pod or node.
func (p *Provisioner) Trigger(uid types.UID) {
	if !p.window.trigger(uid, p.Clock.Now()) {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default: // the loop is about to look anyway
	}
}

// pause is how long after a pass the next one comes although nothing triggers it, as long as pods
// wait: one may have lost its place to another.
const pause = 10 * time.Second

// Start runs passes until the context ends. Triggers that arrive during a pass open
// the next window.
func (p *Provisioner) Start(ctx context.Context) error {
	var next time.Time
	for ctx.Err() == nil {
		closes, stop := p.At(snapshot.Earliest(p.window.closes(), next))
		select {
		case <-ctx.Done():
		case <-p.wake:
		case <-closes:
			p.window.close()
			next = p.run(ctx)
		}
		stop()
	}
	return nil
}

// run makes a pass, and returns when the next one is due at the latest, zero for never. One
// that could not be finished is tried again with the next window.
func (p *Provisioner) run(ctx context.Context) time.Time {
	err := p.Pass(ctx)
	if err != nil && ctx.Err() == nil {
		if !errors.Is(err, errNotSynced) {
			log.FromContext(ctx).Error(err, "planning pending pods")
		}
		p.Trigger(again)
	}
	if !p.Store.Waiting() {
		return time.Time{}
	}
	return p.Clock.Now().Add(pause)
}

// NeedLeaderElection makes the loop run on the leader only.
func (*Provisioner) NeedLeaderElection() bool { return true }
