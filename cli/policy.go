package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// policyTest is one call of `millwright policy test`.
type policyTest struct {
	files     []string
	recursive bool
	events    []string
	now       string
}

func newPolicy(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Try NodePolicies out",
	}
	cmd.AddCommand(newPolicyTest(c))
	return cmd
}

func newPolicyTest(c console) *cobra.Command {
	var o policyTest
	cmd := &cobra.Command{
		Use:   "test -f FILE... --event FILE...",
		Short: "Say what would be done about an interruption, and when, without a cluster",
		Long: `Say what would be done about what a cloud announces: now, and at every later time
at which the answer changes. No cluster is needed.

An event is the body of a message that EventBridge puts into a queue, or JSON with
the fields id, kind, code, machine, zone, notBefore, deadline, state and confirmed.
The manifests are NodePolicies and, if you have them, NodePools, NodeClaims, Nodes,
Pods, PodDisruptionBudgets and DisruptionRequests, as kubectl prints them. Without
the machine that an event is about, the answer is for a machine of each pool.

` + exitCodes(""),
		Example: `  millwright policy test -f policy.yaml --event event.json

  # With the pods that run there, as of a certain time
  kubectl get nodepolicies,nodepools,nodeclaims,nodes,pods -A -o yaml |
    millwright policy test -f - --event event.json --now 2026-10-12T12:00:00Z`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return o.run(c) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.files, "filename", "f", nil, "file, directory or - for standard input; may be repeated")
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "look into the subdirectories of directories given with -f")
	flags.StringSliceVar(&o.events, "event", nil, "file with an event in JSON; may be repeated")
	flags.StringVar(&o.now, "now", "", "the time to begin at, as in 2026-10-12T12:00:00Z (default: when the first event was issued)")
	for flag, extensions := range map[string][]string{"filename": {"yaml", "yml", "json"}, "event": {"json"}} {
		if err := cmd.MarkFlagFilename(flag, extensions...); err != nil {
			panic(err) // the flag was defined a few lines above
		}
	}
	return cmd
}

func (o policyTest) run(c console) error {
	if len(o.files) == 0 || len(o.events) == 0 {
		return fmt.Errorf("give manifests with -f and events with --event\nSee 'millwright policy test --help' for usage")
	}
	events, err := readEvents(o.events)
	if err != nil {
		return err
	}
	now, err := o.begin(events)
	if err != nil {
		return err
	}
	s, standIns, err := o.cluster(c, events, now)
	if err != nil {
		return err
	}
	if standIns {
		c.note("the machine is not among the manifests; the answer is for a machine of each pool")
	}
	var located []interruption.Event
	for _, e := range events {
		found := interruption.Locate(s, e)
		if len(found) == 0 {
			found = []interruption.Event{e} // told to be about nothing
		}
		located = append(located, found...)
	}
	return printTimetable(c.Out, s, located)
}

// printStage prints what is decided at a time.
func printStage(w io.Writer, at time.Time, provided string, d *interruption.Decision) error {
	text := strings.ReplaceAll(strings.TrimRight(d.String(), "\n"), "\n", "\n  ")
	_, err := fmt.Fprintf(w, "%s%s\n  %s\n", at.UTC().Format(time.RFC3339), provided, text)
	return err
}

// printSequel prints what is done about what the cloud announces next, of machines that
// the last decision leaves where they are.
func printSequel(w io.Writer, s *snapshot.Snapshot, events []interruption.Event, last *interruption.Decision) error {
	stays := map[string]bool{}
	for _, r := range last.Responses {
		stays[r.Node.Name] = r.Stays()
	}
	for i := range events {
		next, ok := events[i].Sequel()
		if !ok || next.Issued.Before(s.Now) {
			continue
		}
		later := s.Fork()
		later.Now = next.Issued
		d := interruption.Decide(later, append(slices.Clone(events), next))
		d.Responses = slices.DeleteFunc(d.Responses, func(r interruption.Response) bool { return !stays[r.Node.Name] })
		if len(d.Responses) == 0 {
			continue
		}
		if err := printStage(w, later.Now, ", if the machine is still there", &interruption.Decision{Responses: d.Responses}); err != nil {
			return err
		}
	}
	return nil
}

// begin is the time at which the timetable begins.
func (o policyTest) begin(events []interruption.Event) (time.Time, error) {
	if o.now == "" {
		if events[0].Issued.IsZero() {
			return time.Time{}, fmt.Errorf("%s does not say when it was issued: give the time to begin at with --now", o.events[0])
		}
		return events[0].Issued, nil
	}
	now, err := time.Parse(time.RFC3339, o.now)
	if err != nil {
		return now, fmt.Errorf("--now: %q is not a time such as 2026-10-12T12:00:00Z", o.now)
	}
	return now, nil
}

// changes bounds how often a timetable may change; windows that come and go
// before a deadline change it once or twice.
const changes = 20

// printTimetable prints the decision and jumps to the next time at which it may
// change, until it does not any more; then, of machines that are left where they are, what
// is done when the event comes about. What it says is not carried out meanwhile.
func printTimetable(w io.Writer, s *snapshot.Snapshot, events []interruption.Event) error {
	for range changes {
		d := interruption.Decide(s, events)
		if err := printStage(w, s.Now, "", d); err != nil {
			return err
		}
		if !d.Recheck.After(s.Now) {
			return printSequel(w, s, events, d)
		}
		s = s.Fork()
		s.Now = d.Recheck
	}
	return nil
}
