package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/millwright-dev/millwright/bench/process"
	"github.com/millwright-dev/millwright/sandbox/child"
)

// Config is what a comparison is made of.
type Config struct {
	process.Stage
	// Pods are the pods of the burst, at least 30.
	Pods int
	// Deployments is how many each shape has, at least one. They are created one after the other,
	// those of the shapes in turn, Apart from the next.
	Deployments int
	Apart       time.Duration
	// Hogs are loops that keep a CPU busy meanwhile, each of them.
	Hogs int
	// Phases are the names of those to play, in order; the first must be the burst.
	Phases []string
	// LaunchDelay is the time from a launch to the appearance of the Node.
	LaunchDelay time.Duration
	// ReadyDelay is the time from then until it is ready, and ReadySpread how much longer it is
	// at most.
	ReadyDelay, ReadySpread time.Duration
}

// Result is one turn of one contestant.
type Result struct {
	Contestant string
	Phases     []Measure
	// PeakRSS is the largest resident set of the process, in bytes.
	PeakRSS int64
	// Err is why the turn ended before its last phase; nil otherwise.
	Err error
}

// Run plays all turns in one sandbox. The results are those of the turns that were begun.
func Run(ctx context.Context, cfg Config) ([]Result, error) {
	startCtx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	defer hog(cfg.Hogs)()
	sandbox, err := child.Start(startCtx, child.Config{Binary: cfg.Sandbox, Stderr: cfg.Progress})
	if err != nil {
		return nil, err
	}
	defer func() { _ = sandbox.Stop() }() // what it leaves behind is a temporary directory
	w, err := newWorld(ctx, cfg, sandbox)
	if err != nil {
		return nil, err
	}
	var results []Result
	for i, name := range cfg.Turns {
		c, ok := contestants[name]
		if !ok {
			return results, fmt.Errorf("no contestant %q", name)
		}
		log := filepath.Join(cfg.Dir, fmt.Sprintf("%d-%s.log", i+1, name))
		result, err := w.turn(ctx, c, log)
		if err != nil {
			return results, err
		}
		results = append(results, result)
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
	}
	return results, nil
}

// hog keeps CPUs busy until the returned function is called.
func hog(cpus int) (stop func()) {
	var over atomic.Bool
	for range cpus {
		go func() {
			for !over.Load() { // what it is for
			}
		}()
	}
	return func() { over.Store(true) }
}

// turn lets one contestant play every phase, and clears the cluster after it.
func (w *world) turn(ctx context.Context, c contestant, log string) (Result, error) {
	result := Result{Contestant: c.title}
	if err := w.pools(ctx, c.policy); err != nil {
		return result, err
	}
	p, err := c.start(ctx, w, log)
	if err != nil {
		return result, fmt.Errorf("starting %s: %w", c.title, err)
	}
	defer p.Kill()
	for _, name := range w.cfg.Phases {
		ph, ok := phases[name]
		if !ok {
			return result, fmt.Errorf("no phase %q", name)
		}
		m, err := w.play(ctx, ph, p)
		fmt.Fprintf(w.cfg.Progress, "%s\n", m)
		result.Phases = append(result.Phases, m)
		if err != nil {
			result.Err = fmt.Errorf("%s: %w", name, err)
			break
		}
	}
	result.PeakRSS, err = p.PeakRSS()
	if err != nil {
		return result, err
	}
	// It would take machines away from under their pods, and one that is killed leaves its lease.
	if err := p.Stop(); err != nil {
		return result, fmt.Errorf("%s: %w", c.title, err)
	}
	clearCtx, cancel := context.WithTimeout(ctx, w.cfg.Limit)
	defer cancel()
	return result, errors.Join(w.clear(clearCtx), ctx.Err())
}
