package suite

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/bound"
	"github.com/millwright-dev/millwright/bench/check"
	"github.com/millwright-dev/millwright/bench/measure"
	"github.com/millwright-dev/millwright/bench/workload"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Config says how to run.
type Config struct {
	// Types is the catalogue before a workload's limit on sizes.
	Types []*catalog.Type
	// Seed makes the pods.
	Seed uint64
	// Iterations is how often each engine solves each workload, at least 1.
	Iterations int
	// CutOff ends a solve; what was placed by then counts. An engine that
	// cannot be interrupted may take longer.
	CutOff time.Duration
	// Enough is the time after which an engine gets no further iteration of a
	// workload.
	Enough time.Duration
}

// Row is one engine on one workload. Costs and counts are medians, each on its
// own.
type Row struct {
	Workload, Engine   string
	Pods, Types, Pools int
	Iterations         int
	measure.Cost
	PricePerHour float64
	// Bound is for all pods that some machine can take; PlacedBound for those
	// that the last iteration placed.
	Bound, PlacedBound bound.Bound
	Nodes, Unplaced    int
	// Topology says that pods have topology constraints, and Most is what a solve of
	// the workload may take.
	Topology bool
	Most     workload.Limits
	// Waves says that pods come in several parts.
	Waves bool
	// Linear says that few machines cost no more than many.
	Linear bool
	// CutOff says that an iteration ran out of time.
	CutOff bool
	// Wrong is why check refused a plan, nil if it refused none.
	Wrong error
}

// Run solves one workload with each engine in turn and hands every finished
// row to done.
func Run(ctx context.Context, c Config, w workload.Workload, engines []bench.Engine, done func(Row)) error {
	p := w.Problem(c.Types, c.Seed)
	j, err := newJudge(p)
	if err != nil {
		return fmt.Errorf("workload %s: %w", w.Name, err)
	}
	for _, e := range engines {
		row, err := c.runEngine(ctx, p, j, e)
		if err != nil {
			return fmt.Errorf("workload %s: %s: %w", w.Name, e.Name(), err)
		}
		row.Workload, row.Most, row.Linear, row.Waves = w.Name, w.Most, w.Linear, w.Waves > 1
		row.Topology = workload.HasTopology(p.Pods)
		done(row)
	}
	return nil
}

func (c Config) runEngine(ctx context.Context, p *bench.Problem, j *judge, e bench.Engine) (Row, error) {
	solve, err := e.Prepare(p)
	if err != nil {
		return Row{}, fmt.Errorf("preparing: %w", err)
	}
	var runs []run
	for start := time.Now(); len(runs) < max(c.Iterations, 1); {
		if len(runs) > 0 && time.Since(start) > c.Enough {
			break
		}
		r, err := c.once(ctx, solve)
		if err != nil {
			return Row{}, err
		}
		r.wrong = j.checker.Outcome(r.outcome)
		runs = append(runs, r)
		if ctx.Err() != nil {
			return Row{}, ctx.Err()
		}
	}
	return j.row(e.Name(), runs)
}

// run is one iteration.
type run struct {
	cost    measure.Cost
	outcome *bench.Outcome
	wrong   error
}

func (c Config) once(ctx context.Context, solve bench.Solve) (run, error) {
	ctx, cancel := context.WithTimeout(ctx, c.CutOff)
	defer cancel()
	var read func() *bench.Outcome
	cost, err := measure.Call(func() (err error) {
		read, err = solve(ctx)
		return err
	})
	if err != nil {
		return run{}, fmt.Errorf("solving: %w", err)
	}
	return run{cost: cost, outcome: read()}, nil
}

// judge knows what is right and what is possible.
type judge struct {
	problem *bench.Problem
	checker *check.Checker
	bounds  *bound.Calculator
	all     bound.Bound
}

func newJudge(p *bench.Problem) (*judge, error) {
	checker, err := check.New(p)
	if err != nil {
		return nil, err
	}
	bounds, err := bound.New(p)
	if err != nil {
		return nil, err
	}
	all, err := bounds.Of(p.Pods)
	return &judge{p, checker, bounds, all}, err
}

func (j *judge) row(engine string, runs []run) (Row, error) {
	p := j.problem
	r := Row{
		Engine: engine, Pods: len(p.Pods), Types: len(p.Types), Pools: len(p.Pools),
		Iterations: len(runs), Bound: j.all,
		Cost: measure.Cost{
			Wall:     median(runs, func(r run) time.Duration { return r.cost.Wall }),
			CPU:      median(runs, func(r run) time.Duration { return r.cost.CPU }),
			Allocs:   median(runs, func(r run) uint64 { return r.cost.Allocs }),
			Bytes:    median(runs, func(r run) uint64 { return r.cost.Bytes }),
			PeakHeap: median(runs, func(r run) uint64 { return r.cost.PeakHeap }),
		},
		PricePerHour: median(runs, func(r run) float64 { return r.outcome.PricePerHour() }),
		Nodes:        median(runs, func(r run) int { return len(r.outcome.Machines) }),
		Unplaced:     median(runs, func(r run) int { return len(p.Pods) - r.outcome.Placed() }),
	}
	for _, run := range runs {
		r.CutOff = r.CutOff || run.outcome.CutOff
		if r.Wrong == nil {
			r.Wrong = run.wrong
		}
	}
	var err error
	r.PlacedBound, err = j.placedBound(runs[len(runs)-1].outcome)
	return r, err
}

func (j *judge) placedBound(o *bench.Outcome) (bound.Bound, error) {
	if o.Placed() == len(j.problem.Pods)-j.all.Impossible {
		return j.all, nil
	}
	placed := map[types.UID]bool{}
	for _, m := range o.Machines {
		for _, uid := range m.Pods {
			placed[uid] = true
		}
	}
	var pods []*corev1.Pod
	for _, pod := range j.problem.Pods {
		if placed[pod.UID] {
			pods = append(pods, pod)
		}
	}
	return j.bounds.Of(pods)
}
