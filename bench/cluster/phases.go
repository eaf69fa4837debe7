package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/bench/process"
	"github.com/millwright-dev/millwright/bench/watch"
)

// phase is something that is done to the cluster, and what must come of it.
type phase struct {
	name string
	do   func(w *world, ctx context.Context) error
	// before readies the cluster and after puts it right again; nil if there is nothing to do.
	before, after func(w *world, ctx context.Context) error
	// pods are how many there are at its end.
	pods func(pods int) int
	// trickle says that pods come one at a time: what counts is how long each waits; moves
	// that none come but those that are moved.
	trickle, moves bool
}

var phases = map[string]phase{
	"burst":   {name: "burst", do: (*world).burst, pods: total},
	"again":   {name: "the burst again, on machines that are there", before: (*world).empty, do: (*world).burst, after: (*world).thaw, pods: total},
	"70%":     {name: "scale-in to 70 %", do: func(w *world, ctx context.Context) error { return w.scale(ctx, w.cfg.Pods*7/10) }, pods: seventy, moves: true},
	"rollout": {name: "rolling update", do: (*world).rollOut, pods: seventy},
	"trickle": {name: "pods in trickles", do: (*world).trickle, pods: func(pods int) int { return seventy(pods) + trickled }, trickle: true},
	"nothing": {name: "scale-in to nothing", do: (*world).nothing, pods: func(int) int { return 0 }, moves: true},
}

func seventy(pods int) int { return total(pods * 7 / 10) }

// Measure is what was seen of one phase.
type Measure struct {
	Phase string
	// Half and Last are the seconds from the beginning of the phase to half and the last of
	// the pods that came in it Running; with pods in trickles they are the median and the
	// longest time from a pod's creation. Zero if no pods came.
	Half, Last float64
	// Settled is when the last Node came or went, in seconds from the beginning.
	Settled float64
	// Machines, CPUs and Price ($/h) are those of the fleet at the end.
	Machines  int
	CPUs      int64
	Price     float64
	Evictions int
	// Pods came in the phase; Requests and CPU are the controller's in it.
	Pods, Requests int
	CPU            time.Duration
	// Err is why the phase was not finished.
	Err error
}

// play begins a phase and follows it to its end.
func (w *world) play(ctx context.Context, ph phase, p *process.Process) (Measure, error) {
	m := Measure{Phase: ph.name}
	ctx, cancel := context.WithTimeoutCause(ctx, w.cfg.Limit, fmt.Errorf("not finished within %s", w.cfg.Limit))
	defer cancel()
	if ph.before != nil {
		if m.Err = ph.before(w, ctx); m.Err != nil {
			return m, m.Err
		}
	}
	before, err := p.Usage()
	if m.Err = err; err != nil {
		return m, err
	}
	began, evictions := time.Now(), w.now().Evictions
	err = ph.do(w, ctx)
	if err == nil {
		err = watch.Until(ctx, func() bool {
			w.clock(&m, ph, began)
			return p.Alive() != nil || w.rests(ph.pods(w.cfg.Pods), began)
		})
	}
	if err == nil {
		err = p.Alive()
	}
	w.measure(&m, began, evictions)
	if after, usageErr := p.Usage(); usageErr == nil {
		m.Requests, m.CPU = after.Requests-before.Requests, after.CPU-before.CPU
	}
	if err == nil && ph.after != nil {
		err = ph.after(w, ctx)
	}
	m.Err = err
	return m, err
}

// rests reports whether exactly so many pods are there, all Running, without pods no Node
// either, and no Node has come or gone for a while.
func (w *world) rests(pods int, began time.Time) bool {
	v := w.now()
	if len(v.Pods) != pods || pods == 0 && len(v.Nodes) > 0 {
		return false
	}
	last := began
	for _, p := range v.Pods {
		if p.Running.IsZero() || p.Leaving {
			return false
		}
		if p.Running.After(last) {
			last = p.Running
		}
	}
	if v.Changed.After(last) {
		last = v.Changed
	}
	return pods == 0 || time.Since(last) >= w.cfg.Quiet
}

// clock notes when half and all of the pods that are to come in a phase run for the first
// time; what moves afterwards does not count.
func (w *world) clock(m *Measure, ph phase, began time.Time) {
	if m.Last > 0 {
		return
	}
	var waits []float64
	came, want := 0, ph.pods(w.cfg.Pods)
	for _, p := range w.now().Pods {
		if p.Created.Before(began) || p.Leaving {
			continue
		}
		if came++; !p.Running.IsZero() {
			waits = append(waits, p.Running.Sub(p.Created).Seconds())
		}
	}
	now := time.Since(began).Seconds()
	switch slices.Sort(waits); {
	case ph.trickle && len(waits) == trickled:
		m.Pods, m.Half, m.Last = came, waits[(len(waits)-1)/2], waits[len(waits)-1]
	case ph.trickle || ph.moves:
	case len(waits) == want && want > 0:
		m.Pods, m.Last = came, now
	case len(waits) >= (want+1)/2 && m.Half == 0 && want > 0:
		m.Half = now
	}
}

func (w *world) measure(m *Measure, began time.Time, evictions int) {
	v := w.now()
	if v.Changed.After(began) {
		m.Settled = v.Changed.Sub(began).Seconds()
	}
	for _, n := range v.Nodes {
		n := w.machine(n)
		m.Machines, m.CPUs, m.Price = m.Machines+1, m.CPUs+n.cpus, m.Price+n.price
	}
	m.Evictions = v.Evictions - evictions
}

// String is one line for the progress.
func (m Measure) String() string {
	line := fmt.Sprintf("%-20s %5d pods, half %.1f s, last %.1f s, settled %.1f s; %d machines, %d CPUs, $%.3f/h; %d evictions, %d requests, %.1f CPU-s",
		m.Phase, m.Pods, m.Half, m.Last, m.Settled, m.Machines, m.CPUs, m.Price, m.Evictions, m.Requests, m.CPU.Seconds())
	if m.Err != nil {
		line += "; " + m.Err.Error()
	}
	return line
}
