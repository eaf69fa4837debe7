package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/millwright-dev/millwright/engine/interruption"
)

// cloudKnob is where the simulated cloud reads what it announces.
const cloudKnob = "interruptions"

// announcement is one call of "sandbox inject interruption".
type announcement struct {
	injection
	event        interruption.Event
	code, state  string
	in, deadline time.Duration
	delivery     delivery
}

func newInjectInterruption() *cobra.Command {
	var a announcement
	cmd := &cobra.Command{
		Use:   "interruption [KIND]",
		Short: "Let the simulated cloud announce something about a machine",
		Long: fmt.Sprintf(`Let the simulated cloud announce something about a machine, change what it has
announced (the same --id), or take it back (--clear: with --id one, else all).

The kinds are %v, the codes of Maintenance %v.`, interruption.Kinds(), interruption.Codes()),
		Example: `  sandbox inject interruption SpotInterruption --node general-x7k2p --deadline 2m
  sandbox inject interruption Maintenance --code Stop --node general-x7k2p --in 336h --id m1
  sandbox inject interruption Maintenance --code Stop --node general-x7k2p --id m1 --state Cancelled
  sandbox inject interruption --clear
  sandbox inject interruption SpotInterruption --node general-x7k2p --sqs "$INTERRUPTION_QUEUE" --copies 3
  sandbox inject interruption SpotInterruption --node general-x7k2p --sqs "$INTERRUPTION_QUEUE" --forged 10000`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := a.change(args, time.Now())
			if err != nil {
				return err
			}
			if a.delivery.queue != "" {
				return a.tell(cmd.Context(), cmd.OutOrStdout(), change)
			}
			client, err := a.client()
			if err != nil {
				return err
			}
			return announce(cmd.Context(), client, cmd.OutOrStdout(), change)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&a.kubeconfig, "kubeconfig", "", "kubeconfig of the sandbox (default: $KUBECONFIG)")
	flags.StringVar(&a.event.Machine, "node", "", "the machine, by the name of its Node")
	flags.StringVar(&a.event.Zone, "zone", "", "the zone of ZoneImpaired")
	flags.StringVar(&a.event.ID, "id", "", "the event's ID (default: kind and machine)")
	flags.StringVar(&a.code, "code", "", "what Maintenance does to the machine")
	flags.StringVar(&a.state, "state", "", "Announced, Changed, Cancelled or Completed")
	flags.DurationVar(&a.in, "in", 0, "from now until the event begins")
	flags.DurationVar(&a.deadline, "deadline", 0, "from now until its deadline")
	flags.BoolVar(&a.event.Confirmed, "confirmed", false, "the cloud's own API says the same")
	flags.StringVar(&a.delivery.queue, "sqs", "", "send a message to this queue instead, the URL that sandbox aws up prints")
	flags.IntVar(&a.delivery.copies, "copies", 1, "with --sqs: how often the message is sent")
	flags.IntVar(&a.delivery.forged, "forged", 0, "with --sqs: so many forged and damaged messages about the machine instead")
	flags.DurationVar(&a.delivery.delay, "delay", 0, "with --sqs: how long the messages are held back, whole seconds")
	flags.BoolVar(&a.clear, "clear", false, "take back instead of announcing")
	return cmd
}

// tell sends messages about what the arguments announce.
func (a announcement) tell(ctx context.Context, out io.Writer, change func([]interruption.Event) []interruption.Event) error {
	list := change(nil)
	if len(list) != 1 {
		return errors.New("--sqs: which kind of event?")
	}
	return a.delivery.send(ctx, out, list[0], time.Now())
}

// change is what the arguments make of the list of events.
func (a announcement) change(args []string, now time.Time) (func([]interruption.Event) []interruption.Event, error) {
	e := a.event
	if a.clear {
		return func(list []interruption.Event) []interruption.Event {
			return slices.DeleteFunc(list, func(old interruption.Event) bool { return e.ID == "" || old.ID == e.ID })
		}, nil
	}
	if len(args) == 0 {
		return func(list []interruption.Event) []interruption.Event { return list }, nil
	}
	e.Kind, e.Code, e.State = interruption.Kind(args[0]), interruption.Code(a.code), interruption.State(a.state)
	if e.ID == "" {
		e.ID = fmt.Sprintf("%s-%s%s", e.Kind, e.Machine, e.Zone)
	}
	e.NotBefore, e.Deadline = later(now, a.in), later(now, a.deadline)
	if err := e.Check(); err != nil {
		return nil, err
	}
	return func(list []interruption.Event) []interruption.Event {
		list = slices.DeleteFunc(list, func(old interruption.Event) bool { return old.ID == e.ID })
		return append(list, e)
	}, nil
}

// later is so long after now, zero for no time.
func later(now time.Time, d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return now.Add(d).UTC().Truncate(time.Second)
}

// announce edits the simulated cloud's list and prints what stands then.
func announce(ctx context.Context, client kubernetes.Interface, out io.Writer, change func([]interruption.Event) []interruption.Event) error {
	var stands []interruption.Event
	err := editCloud(ctx, client, func(data map[string]string) error {
		stands = nil
		if text := data[cloudKnob]; text != "" {
			if err := json.Unmarshal([]byte(text), &stands); err != nil {
				return fmt.Errorf("%s: %w", cloudKnob, err)
			}
		}
		stands = change(stands)
		text, err := json.Marshal(stands)
		data[cloudKnob] = string(text)
		return err
	})
	if err != nil {
		return err
	}
	for _, e := range stands {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, string(text)); err != nil {
			return err
		}
	}
	return nil
}
