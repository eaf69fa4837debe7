package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// question is one call of `millwright why`.
type question struct {
	kube    *genericclioptions.ConfigFlags
	connect func(*genericclioptions.ConfigFlags) (client.Reader, error)
	clock   clock.PassiveClock
}

func newWhy(c console) *cobra.Command {
	return newWhyWith(c, question{connect: connect, clock: clock.RealClock{}})
}

func newWhyWith(c console, q question) *cobra.Command {
	q.kube = genericclioptions.NewConfigFlags(true)
	cmd := &cobra.Command{
		Use:   "why node|claim NAME",
		Short: "Say what a machine waits for on its way to work, and what would have to change",
		Long: `Say what a machine waits for on its way from launch to work: first the verdict,
then every gate with the time since when it is open or closed, then what would
have to change. Of a machine that is being taken away it says what that waits for:
pods and volumes, the deadline, and what would unblock it. Of one that is broken it
says what is wrong and what is done about it.

The verdict is what the conditions of the NodeClaim say; the gates are worked out
from the same objects in the same way. No access to the controller is needed.

` + exitCodes,
		Example: `  millwright why node ip-10-0-0-1.ec2.internal
  millwright why claim general-x7k2p`,
		Args:      cobra.ExactArgs(2),
		ValidArgs: []string{kindNode, kindClaim},
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, err := kindOf(args[0], kindNode, kindClaim)
			if err != nil {
				return err
			}
			reader, err := q.connect(q.kube)
			if err != nil {
				return err
			}
			return q.run(cmd.Context(), c.Out, reader, kind, args[1])
		},
	}
	q.kube.AddFlags(cmd.Flags())
	return cmd
}

func (q question) run(ctx context.Context, w io.Writer, reader client.Reader, kind, name string) error {
	now := q.clock.Now()
	in, err := take(ctx, reader, now, true)
	if err != nil {
		return err
	}
	var b strings.Builder
	if going, err := in.explainDrain(ctx, reader, &b, kind, name); err != nil {
		return err
	} else if !going {
		found, missing := in.find(kind, name)
		if missing != "" {
			return fmt.Errorf("%s", missing)
		}
		for _, m := range found {
			m.explain(&b, now)
		}
	}
	if len(in.unread) > 0 {
		fmt.Fprintf(&b, "Not readable for you, so that the gates may be incomplete: %s\n", strings.Join(in.unread, ", "))
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// explain writes the verdict, the gates and what would have to change.
func (m *machine) explain(b *strings.Builder, now time.Time) {
	m.explainHealth(b)
	if at, ok := m.initialized(); ok {
		fmt.Fprintf(b, "%s is ready for work since %s, %v after its claim was created.\n\n", m.title(), stamp(at), at.Sub(m.claim.Created).Round(time.Second))
		m.print(b)
		return
	}
	text, since := m.verdict()
	fmt.Fprintf(b, "%s is not ready for work: %s.\n", m.title(), text)
	fmt.Fprintf(b, "It has been so since %s (%v).\n\n", stamp(since), now.Sub(since).Round(time.Second))
	m.print(b)
	if fix := m.fix(); fix != "" {
		fmt.Fprintf(b, "\nWhat would have to change:\n%s", fix)
	}
}
