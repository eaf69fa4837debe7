package ec2

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/bench/ec2/stage"
	"github.com/millwright-dev/millwright/bench/process"
	"github.com/millwright-dev/millwright/bench/watch"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

// Config is what a comparison is made of.
type Config struct {
	process.Stage
	// Scenarios are the names of what each contestant plays, in order.
	Scenarios []string
	// Machines is how large the fleet is that changes hands, and those of the scenarios of Many.
	Machines int
	// Hold is how long is waited for what comes of a change of controllers.
	Hold time.Duration
}

// Measure is what was seen of one scenario with one contestant.
type Measure struct {
	Scenario, Contestant string
	// Pods are those of the workloads that ran, of Wanted; DaemonSets are left out.
	Pods, Wanted int
	// Half and Last are the seconds from the creation of the workloads until half and all of
	// their pods ran; zero if it was not reached.
	Half, Last float64
	// Machines, their distinct Types and their Price, $/h, are those that ran once all was at
	// rest.
	Machines int
	Types    []string
	Price    float64
	// Evictions are those until then.
	Evictions int
	// Calls are those of AWS from the controller's start until the last pod ran.
	Calls aws.Counts
	// Fleets, Refused and Short count what CreateFleet answered until then: all, those
	// refused as too frequent, and those that told of an offering without capacity. Launched
	// are the seconds from the creation of the workloads until the last of them.
	Fleets, Refused, Short int
	Launched               float64
	// CutOff is what came of dying between a launch and its record; nil where it is not
	// played.
	CutOff *CutOff
	// Gone is how many seconds after the workloads no instance was left; Left is what the
	// cluster then still had in AWS. Only played where Cleared.
	Cleared bool
	Gone    float64
	Left    aws.Left
	// Usage is the controller's until the last pod ran.
	Usage process.Usage
	// Busy is the machine's load average, over a minute, before the scenario; zero if it is
	// not known.
	Busy float64
	// Err is why the scenario was not finished.
	Err error
}

// Run plays every scenario with every contestant, each in a sandbox of its own. Measures are
// those of the scenarios that were begun.
func Run(ctx context.Context, cfg Config) ([]Measure, error) {
	var out []Measure
	chosen := map[string][]string{} // types that each contestant took in the story
	for _, name := range cfg.Scenarios {
		s, ok := scenarios[name]
		if !ok {
			return out, fmt.Errorf("no scenario %q", name)
		}
		for _, turn := range cfg.Turns {
			c, ok := stage.Contestants[turn]
			if !ok {
				return out, fmt.Errorf("no contestant %q", turn)
			}
			m, err := play(ctx, cfg, s, turn, chosen[turn])
			if err != nil {
				return out, fmt.Errorf("%s with %s: %w", s.title, c.Title, err)
			}
			if name == "story" {
				chosen[turn] = m.Types
			}
			fmt.Fprintln(cfg.Progress, m)
			out = append(out, m)
		}
	}
	return out, nil
}

// play is one scenario with one contestant; an error is one of the stage, not of the play.
func play(ctx context.Context, cfg Config, s scenario, turn string, chosen []string) (m Measure, err error) {
	c := stage.Contestants[turn]
	m = Measure{Scenario: s.title, Contestant: c.Title, Busy: busy()}
	w, err := newWorld(ctx, cfg, s.name+"-"+turn, s.args...)
	if err != nil {
		return m, err
	}
	defer w.Close()
	if err := s.stage(ctx, w, chosen); err != nil {
		return m, err
	}
	p, err := w.Start(ctx, c)
	if err != nil {
		return m, err
	}
	defer func() { p.Kill() }() // p may be another one by then
	began := time.Now()
	if err := s.enter(ctx, w); err != nil {
		return m, err
	}
	var before map[string]aws.Instance
	named := func() map[string]bool { return nil }
	if s.cutOff {
		if p, before, err = w.cutOff(ctx, c, p); err != nil {
			return m, err
		}
		named = w.adoptions(ctx)
	}
	m.Err = w.follow(ctx, &m, p, began)
	if adopted := named(); m.Err == nil && s.cutOff {
		m.CutOff, err = w.reckon(ctx, before, adopted)
	}
	if m.Err == nil && err == nil && s.clear {
		m.Err = w.clear(ctx, &m, p)
	}
	return m, errors.Join(err, ctx.Err())
}

// follow waits until every pod runs and all is at rest, and measures.
func (w *world) follow(ctx context.Context, m *Measure, p *process.Process, began time.Time) error {
	wanted, err := w.Wanted(ctx)
	if err != nil {
		return err
	}
	m.Wanted = wanted
	limited, cancel := context.WithTimeoutCause(ctx, w.cfg.Limit, fmt.Errorf("not finished within %v", w.cfg.Limit))
	defer cancel()
	err = watch.Until(limited, func() bool { return p.Alive() != nil || w.clock(m, began) })
	if err := errors.Join(err, p.Alive(), w.count(ctx, m, p, began)); err != nil {
		return errors.Join(err, w.fleet(ctx, m))
	}
	err = watch.Until(limited, func() bool { return p.Alive() != nil || w.rests(m.Wanted) })
	return errors.Join(err, p.Alive(), w.fleet(ctx, m))
}

// clock notes how many pods run, and reports whether all do.
func (w *world) clock(m *Measure, began time.Time) bool {
	m.Pods = running(w.Seen.Now())
	now := time.Since(began).Seconds()
	if m.Half == 0 && m.Pods >= (m.Wanted+1)/2 {
		m.Half = now
	}
	if m.Pods < m.Wanted {
		return false
	}
	m.Last = now
	return true
}

// running counts the pods of workloads that run and stay.
func running(v watch.View) int {
	n := 0
	for _, p := range v.Pods {
		if !p.Daemon && !p.Leaving && !p.Over && !p.Running.IsZero() {
			n++
		}
	}
	return n
}

// rests reports whether every pod runs, no Node leaves and none has come or gone for a while.
func (w *world) rests(pods int) bool {
	v := w.Seen.Now()
	leaves := slices.ContainsFunc(v.Nodes, func(n watch.Node) bool { return n.Leaving })
	return running(v) == pods && !leaves && time.Since(v.Changed) >= w.cfg.Quiet
}

// busy is the machine's load average over a minute, zero if it is not known.
func busy() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}

// count notes what was asked of AWS so far.
func (w *world) count(ctx context.Context, m *Measure, p *process.Process, began time.Time) error {
	var err error
	if m.Calls, err = w.Calls(ctx); err != nil {
		return err
	}
	record, err := w.AWS.Record(ctx)
	if err != nil {
		return err
	}
	for _, c := range record {
		if c.Action != "ec2:CreateFleet" || c.Error == "DryRunOperation" {
			continue
		}
		m.Fleets, m.Launched = m.Fleets+1, c.At.Sub(began).Seconds()
		if c.Error == "RequestLimitExceeded" {
			m.Refused++
		}
		for _, code := range c.Failures {
			if code == "InsufficientInstanceCapacity" {
				m.Short++
				break
			}
		}
	}
	if p.Alive() == nil {
		m.Usage, err = p.Usage()
	}
	return err
}

// fleet notes the machines that run.
func (w *world) fleet(ctx context.Context, m *Measure) error {
	alive, err := w.Alive(ctx)
	if err != nil {
		return err
	}
	types := map[string]bool{}
	for _, i := range alive {
		m.Machines, m.Price = m.Machines+1, m.Price+i.Price
		types[i.Type] = true
	}
	m.Types = sorted(types)
	m.Evictions = w.Seen.Now().Evictions
	return nil
}

// clear deletes the workloads and waits until no instance is left, then the pools and
// classes, until AWS has nothing of the cluster.
func (w *world) clear(ctx context.Context, m *Measure, p *process.Process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.cfg.Limit, fmt.Errorf("not cleared within %v", w.cfg.Limit))
	defer cancel()
	began := time.Now()
	if err := w.Nothing(ctx); err != nil {
		return err
	}
	err := watch.Until(ctx, func() bool {
		alive, err := w.Alive(ctx)
		return p.Alive() != nil || err == nil && len(alive) == 0
	})
	if err := errors.Join(err, p.Alive()); err != nil {
		return err
	}
	m.Cleared, m.Gone = true, time.Since(began).Seconds()
	if err := w.remove(ctx); err != nil {
		return err
	}
	m.Left, err = w.AWS.Left(ctx)
	return err
}
