package repair

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/repair"
)

// Interval is the time between two looks. What is broken is tolerated for minutes.
const Interval = 5 * time.Second

const name = "repair"

// Watcher looks after machines that are broken. It is not safe for concurrent use.
type Watcher struct {
	loop.Deps
	options repair.Options
}

// New makes a Watcher. Machines of a provider that is no cloud.Repairer are broken
// when a policy says so.
func New(d loop.Deps) *Watcher {
	w := &Watcher{Deps: d, options: repair.Options{Gate: d.Settings.NodeRepair}}
	if p, ok := cloud.As[cloud.Repairer](d.Provider); ok {
		w.options.Provider = p.RepairPolicies()
	}
	return w
}

// Add registers the loop, on the leader.
func Add(mgr manager.Manager, d loop.Deps) error { return mgr.Add(New(d)) }

// Start looks until the context ends.
func (w *Watcher) Start(ctx context.Context) error {
	return w.Every(metrics.WithController(ctx, name), Interval, Interval, "repairing machines", w.Look)
}

// Look does once what is due. With an error it has still done what it could.
func (w *Watcher) Look(ctx context.Context) error {
	if !w.Store.Synced() {
		return nil
	}
	s := w.Managed(w.Store.Snapshot(w.Clock.Now(), nil))
	d := repair.Decide(s, w.options)
	w.Metrics.Unhealthy(unhealthyCounts(d))
	errs := []error{w.tell(ctx, d), w.tellPools(ctx, d)}
	for _, c := range d.Commands {
		if err := w.carryOut(ctx, s, c); err != nil && !loop.Overtaken(err) {
			errs = append(errs, fmt.Errorf("%s of NodeClaim %s: %w", c.Do, c.Node.Claim.Name, err))
		}
	}
	for _, n := range d.Rebooting {
		if err := w.reboot(ctx, s, n); err != nil && !loop.Overtaken(err) {
			errs = append(errs, fmt.Errorf("rebooting NodeClaim %s: %w", n.Claim.Name, err))
		}
	}
	return errors.Join(errs...)
}

// unhealthyCounts counts unhealthy machines by pool, what is wrong and what becomes of that.
func unhealthyCounts(d *repair.Decision) map[metrics.Unwell]int {
	out := map[metrics.Unwell]int{}
	for _, v := range d.Verdicts {
		out[metrics.Unwell{Pool: v.Node.Claim.Pool, Condition: v.Findings[0].Name, Reason: string(v.Reason.Code)}]++
	}
	return out
}
