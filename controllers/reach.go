package controllers

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/millwright-dev/millwright/controllers/loop"
)

// addReach says once, when the cluster's state is known, which NodePools the provider can
// serve, and which it cannot because their node class is another cloud's.
func addReach(mgr manager.Manager, d loop.Deps) error {
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		for !d.Store.Synced() {
			select {
			case <-ctx.Done():
				return nil
			case <-d.Clock.After(time.Second):
			}
		}
		logReach(ctx, d)
		return nil
	}))
}

func logReach(ctx context.Context, d loop.Deps) {
	in := []string{}
	for _, p := range d.Store.Snapshot(d.Clock.Now(), nil).Pools {
		if d.Manages(p.Class) {
			in = append(in, p.Name)
			continue
		}
		log.FromContext(ctx).Info("NodePool is out of reach: its node class is not one of this provider", "NodePool", p.Name, "nodeClassRef", p.Class.Kind+"."+p.Class.Group+"/"+p.Class.Name)
	}
	log.FromContext(ctx).Info("NodePools in reach", "NodePools", in)
}
