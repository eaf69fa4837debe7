package demo

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// screen draws the story: in place on a terminal, else as a line a second when
// something changed.
type screen struct {
	out  io.Writer
	live bool
	// drawn is the number of lines that the next frame overwrites.
	drawn int
	last  string
	start time.Time
}

// rows is how many machines a frame shows, so that it fits a small terminal.
const rows = 16

// say prints a line that stays.
func (s *screen) say(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
	s.drawn, s.last = 0, ""
}

// draw shows a view.
func (s *screen) draw(v view) {
	headline := s.headline(v)
	if !s.live {
		if headline != s.last {
			fmt.Fprintf(s.out, "  %5.1fs  %s\n", time.Since(s.start).Seconds(), headline)
		}
		s.last = headline
		return
	}
	frame := s.frame(headline, v)
	fmt.Fprint(s.out, strings.Repeat("\x1b[A\x1b[2K", s.drawn), frame)
	s.drawn = strings.Count(frame, "\n")
}

func (s *screen) headline(v view) string {
	ready := 0
	for _, m := range v.machines {
		if m.ready {
			ready++
		}
	}
	return fmt.Sprintf("pods %d/%d running   machines %d/%d ready   $%.3f/h", v.running, v.workload, ready, len(v.machines), v.pricePerHour())
}

func (s *screen) frame(headline string, v view) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "  %5.1fs  %s\n", time.Since(s.start).Seconds(), headline)
	table(&b, v.machines)
	return b.String()
}

// table prints the machines, those that wait for something first.
func table(out io.Writer, machines []machine) {
	shown := slices.Clone(machines)
	slices.SortStableFunc(shown, func(a, b machine) int {
		switch {
		case a.ready == b.ready:
			return 0
		case b.ready:
			return -1
		}
		return 1
	})
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  MACHINE\tTYPE\tZONE\tCAPACITY\t$/H\tPODS\tSTATUS")
	for _, m := range shown[:min(rows, len(shown))] {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%.4f\t%d\t%s\n", m.name, m.instanceType, m.zone, m.capacityType, m.price, m.pods, m.status)
	}
	w.Flush()
	if more := len(shown) - rows; more > 0 {
		fmt.Fprintf(out, "  … and %d more\n", more)
	}
}
