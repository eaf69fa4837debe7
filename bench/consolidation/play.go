package consolidation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/bound"
	"github.com/millwright-dev/millwright/bench/measure"
)

// Engine is a consolidation under comparison.
type Engine interface {
	// Name is the engine's column in the table.
	Name() string
	// Begin takes a cluster up, as a controller does when it starts; it is not timed.
	Begin(ctx context.Context, c *Cluster) (Session, error)
}

// Session is an engine with one cluster.
type Session interface {
	// Decide looks at the cluster once, and is timed. What it returns says what is to
	// be done, and is not timed.
	Decide(ctx context.Context, now time.Time) (func() ([]Move, error), error)
	// Follow tells what has been done, as watches would; it is not timed.
	Follow(ctx context.Context, c Change) error
}

// Result is one engine on one case.
type Result struct {
	Case, Engine string
	// Nodes and Price are at the beginning.
	Nodes  int
	Pods   int
	Before float64
	Bound  float64
	// Decisions are what each took; Moves, Evictions, After and Left are what came of
	// all of them.
	Decisions    []measure.Cost
	Moves, Moved int
	After        float64
	Left         int
	// Course is how it went, after each move.
	Course []Point
	// Unfinished says that time ran out before nothing more was found.
	Unfinished bool
	// Wrong is why a move could not be carried out, empty if all could.
	Wrong string
}

// Point is how many pods have moved and what the cluster costs by then.
type Point struct {
	Moved int
	Price float64
}

// MovedUntil is how many pods had moved when a price was reached; ok is false if it was
// not.
func (r Result) MovedUntil(price float64) (moved int, ok bool) {
	for _, p := range r.Course {
		if p.Price <= price {
			return p.Moved, true
		}
	}
	return 0, false
}

// lulls is after how many decisions without a move nothing more is to be expected.
// Millwright begins its search elsewhere from one decision to the next.
const lulls = 3

// pause is the time between two decisions.
const pause = time.Minute

// Play lets an engine decide until it finds nothing more, has used up its CPU time or is
// interrupted. What it has found until then is kept.
func Play(ctx context.Context, name string, start *Cluster, e Engine, limit time.Duration) (Result, error) {
	c := start.Clone()
	r := Result{Case: name, Engine: e.Name(), Nodes: len(c.Machines), Pods: len(c.Pods()), Before: c.PricePerHour()}
	s, err := e.Begin(ctx, c)
	if err != nil {
		return r, fmt.Errorf("%s takes the cluster up: %w", e.Name(), err)
	}
	now := bench.Now
	for still := 0; still < lulls; still++ {
		if r.CPU() > limit {
			r.Unfinished = true
			break
		}
		var read func() ([]Move, error)
		cost, err := measure.Call(func() (err error) {
			read, err = s.Decide(ctx, now)
			return err
		})
		if ctx.Err() != nil {
			r.Unfinished = true
			break
		}
		if err != nil {
			return r, fmt.Errorf("%s decides: %w", e.Name(), err)
		}
		r.Decisions = append(r.Decisions, cost)
		moves, err := read()
		if err != nil {
			return r, fmt.Errorf("%s: %w", e.Name(), err)
		}
		for _, m := range moves {
			still = -1
			change, err := c.Apply(m, now)
			if err != nil {
				r.Wrong = err.Error()
				return r, nil
			}
			r.Moves, r.Moved = r.Moves+1, r.Moved+len(change.Moved)
			r.Course = append(r.Course, Point{r.Moved, c.PricePerHour()})
			if err := s.Follow(ctx, change); err != nil {
				return r, fmt.Errorf("%s follows: %w", e.Name(), err)
			}
		}
		now = now.Add(pause)
	}
	r.After, r.Left = c.PricePerHour(), len(c.Machines)
	return r, nil
}

// LowerBound is a price below which no machines hold a cluster's pods.
func LowerBound(c *Cluster) (float64, error) {
	pods := c.Pods()
	for i, p := range pods {
		pending := *p
		pending.Spec.NodeName = ""
		pods[i] = &pending
	}
	calculator, err := bound.New(&bench.Problem{Pods: pods, Pools: c.Pools, Types: c.Types})
	if err != nil {
		return 0, err
	}
	b, err := calculator.Of(pods)
	return b.PerHour, err
}

// CPU is that of all decisions.
func (r Result) CPU() time.Duration {
	var sum time.Duration
	for _, c := range r.Decisions {
		sum += c.CPU
	}
	return sum
}

// Longest is the decision that took the longest, by a measure.
func (r Result) Longest(of func(measure.Cost) time.Duration) time.Duration {
	var most time.Duration
	for _, c := range r.Decisions {
		most = max(most, of(c))
	}
	return most
}

// Median is the middle decision, by a measure.
func (r Result) Median(of func(measure.Cost) time.Duration) time.Duration {
	list := make([]time.Duration, len(r.Decisions))
	for i, c := range r.Decisions {
		list[i] = of(c)
	}
	slices.Sort(list)
	return list[len(list)/2]
}

func wall(c measure.Cost) time.Duration { return c.Wall }
func cpu(c measure.Cost) time.Duration  { return c.CPU }
