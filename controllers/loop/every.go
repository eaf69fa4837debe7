package loop

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Every takes a step when first has passed, and another so long after each has
// ended, until the context ends. A step that fails is logged, with what it was
// doing, and the next one tries again.
func (d Deps) Every(ctx context.Context, first, interval time.Duration, doing string, step func(context.Context) error) error {
	timer := d.Clock.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C():
			if err := step(ctx); err != nil {
				log.FromContext(ctx).Error(err, doing)
			}
			timer.Reset(interval)
		}
	}
}
