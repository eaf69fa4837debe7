package disruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Periods between passes without an event. A decision can also name the time at
// which it will change by itself.
const (
	period = 10 * time.Second
	retry  = time.Second
)

// Disruptor carries out decisions. Pass runs one at a time; Last may be called
// at any time from anywhere.
type Disruptor struct {
	loop.Deps
	options disruption.Options
	last    atomic.Pointer[disruption.Decision]
	// said is what the Disruptable condition of each claim says, as far as this process wrote
	// or confirmed it; after a restart all are confirmed once.
	said map[string]plan.Reason
	// took is how long the latest decision took, in nanoseconds.
	took atomic.Int64
	// costs rations the writing of deletion costs, which is paused until costsPaused.
	costs       flowcontrol.PassiveRateLimiter
	costsPaused time.Time
}

// gather is how long a pass waits after an event, so that changes that come
// together are judged together: a second, and ten times as long as a decision
// takes.
func (d *Disruptor) gather() time.Duration {
	return max(time.Second, min(10*time.Duration(d.took.Load()), period))
}

// New makes a Disruptor.
func New(d loop.Deps, options disruption.Options) *Disruptor {
	return &Disruptor{
		Deps: d, options: options,
		costs: flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(costsPerSecond, costsBurst, d.Clock),
	}
}

// Last is the latest decision, nil before the first pass.
func (d *Disruptor) Last() *disruption.Decision { return d.last.Load() }

// Pass decides about every machine and does the next step of everything. It
// returns how long to wait for the next pass if nothing happens.
func (d *Disruptor) Pass(ctx context.Context) (time.Duration, error) {
	if !d.Store.Synced() {
		return retry, nil
	}
	s := d.Managed(d.Snapshot())
	started := d.Clock.Now()
	decision := disruption.Decide(s, d.options)
	d.last.Store(decision)
	d.took.Store(int64(d.Clock.Since(started)))
	for _, c := range disruption.Causes() {
		d.Metrics.Evaluated(reason(c), "", d.Clock.Since(started), decision.Eligible[c])
	}
	d.Metrics.PoolsCost(costs(s))
	d.Metrics.Verdicts(verdictCounts(decision))
	d.tell(ctx, decision)
	if d.Settings.Observe {
		d.tellImagined(ctx, decision)
		return period, nil
	}
	d.announce(ctx, s, decision)
	err := errors.Join(
		d.disagree(ctx, decision), // while kube-scheduler's words are about machines without a taint
		d.enforce(ctx, decision),
		d.rollBackAll(ctx, decision),
		d.carryOutAll(ctx, s, decision),
		d.conditions(ctx, s, decision),
		d.deletionCosts(ctx, decision),
	)
	return d.next(decision), err
}

// verdictCounts counts the machines with each verdict.
func verdictCounts(decision *disruption.Decision) map[metrics.Verdict]int {
	out := map[metrics.Verdict]int{}
	for _, v := range decision.Verdicts {
		out[metrics.Verdict{Pool: v.Node.Pool(), Reason: string(v.Reason.Code)}]++
	}
	return out
}

// costs is the price of the machines of every pool that are not leaving, in $/h.
func costs(s *snapshot.Snapshot) map[string]float64 {
	out := make(map[string]float64, len(s.Pools))
	for _, p := range s.Pools {
		out[p.Name] = 0
		for _, n := range s.Nodes {
			if n.Pool() == p.Name && !n.Deleting() {
				out[p.Name] += disruption.Price(p, n)
			}
		}
	}
	return out
}

func (d *Disruptor) next(decision *disruption.Decision) time.Duration {
	wait := period
	if at := decision.Recheck; !at.IsZero() {
		wait = max(min(wait, at.Sub(d.Clock.Now())), 100*time.Millisecond)
	}
	for _, c := range decision.Commands {
		if c.Step != disruption.Await {
			wait = min(wait, d.gather()) // the next step is due at once, or when the mark has settled
		}
	}
	return wait
}

func (d *Disruptor) carryOutAll(ctx context.Context, s *snapshot.Snapshot, decision *disruption.Decision) error {
	held, err := d.remember(ctx, s, decision)
	errs := make([]error, len(decision.Commands))
	loop.SideBySide(len(errs), func(i int) {
		c := decision.Commands[i]
		refused := slices.ContainsFunc(c.Nodes, func(n *snapshot.Node) bool { return held[n.Claim.Pool] })
		if !refused || !c.Noted() {
			errs[i] = d.settle(ctx, c, d.step(ctx, s, decision, c))
		}
	})
	return errors.Join(append(errs, err)...)
}

// step is the next step of a command; to wait is none.
func (d *Disruptor) step(ctx context.Context, s *snapshot.Snapshot, decision *disruption.Decision, c disruption.Command) error {
	switch c.Step {
	case disruption.Mark:
		return d.mark(ctx, c)
	case disruption.Launch:
		return d.launch(ctx, c)
	case disruption.Remove:
		return d.remove(ctx, s, decision, c)
	}
	return nil
}

// settle sorts out the error of one step. Objects that have changed or gone in
// the meantime are for the next pass to judge.
func (d *Disruptor) settle(ctx context.Context, c disruption.Command, err error) error {
	if err == nil {
		return nil
	}
	if loop.Overtaken(err) {
		log.FromContext(ctx).V(1).Info("machine changed meanwhile", "nodeclaims", c.Claims, "step", c.Step)
		return nil
	}
	d.Metrics.CommandFailed(command(c))
	return fmt.Errorf("%s of NodeClaim %s: %w", c.Step, c.Claims[0], err)
}

func (d *Disruptor) rollBackAll(ctx context.Context, decision *disruption.Decision) error {
	var errs []error
	for _, r := range decision.Rollbacks {
		err := errors.Join(d.discard(ctx, r), d.rollBack(ctx, r.Node.Object, r.Node.Claim.Name, r))
		switch {
		case err == nil:
			log.FromContext(ctx).Info("rolled back disruption", "nodeclaim", r.Node.Claim.Name, "reason", r.Reason.Message())
		case !loop.Overtaken(err):
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
