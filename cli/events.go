package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/controllers/interruption"
)

// eventsQuery is one call of `millwright events`.
type eventsQuery struct {
	kube    *genericclioptions.ConfigFlags
	connect func(*genericclioptions.ConfigFlags) (client.Reader, error)
	output  string
}

func newEvents(c console) *cobra.Command { return newEventsWith(c, eventsQuery{connect: connect}) }

func newEventsWith(c console, q eventsQuery) *cobra.Command {
	q.kube = genericclioptions.NewConfigFlags(true)
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List the machines that the cloud has announced something about, and what will be done",
		Long: `List the machines that the cloud has announced something about: what is done about
it and when, as the controller has noted on their NodeClaims. Machines whose policy
ignores the event are not listed, nor are those that are gone.

` + exitCodes,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("output", q.output, formatTable, formatJSON, formatYAML); err != nil {
				return err
			}
			reader, err := q.connect(q.kube)
			if err != nil {
				return err
			}
			docs, err := interrupted(cmd.Context(), reader)
			if err != nil {
				return err
			}
			return q.print(c.Out, docs)
		},
	}
	cmd.Flags().StringVarP(&q.output, "output", "o", formatTable, "table, json or yaml")
	complete(cmd, "output", formatTable, formatJSON, formatYAML)
	q.kube.AddFlags(cmd.Flags())
	return cmd
}

// eventDocument is one machine in JSON and YAML.
type eventDocument struct {
	NodeClaim string `json:"nodeClaim"`
	Node      string `json:"node,omitempty"`
	NodePool  string `json:"nodePool,omitempty"`
	// Standing is false once the cloud announces nothing about it any more.
	Standing bool      `json:"standing"`
	Leaving  bool      `json:"leaving"`
	Reason   string    `json:"reason"`
	Message  string    `json:"message"`
	Since    time.Time `json:"since"`
}

// interrupted lists the claims with the condition, those that stand first, then
// by name.
func interrupted(ctx context.Context, reader client.Reader) ([]eventDocument, error) {
	var list karpv1.NodeClaimList
	if err := reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing NodeClaims: %w", err)
	}
	out := []eventDocument{}
	for i := range list.Items {
		claim := &list.Items[i]
		c := claim.StatusConditions().Get(interruption.Interrupted)
		if c == nil {
			continue
		}
		out = append(out, eventDocument{
			NodeClaim: claim.Name, Node: claim.Status.NodeName, NodePool: claim.Labels[karpv1.NodePoolLabelKey],
			Standing: c.IsTrue(), Leaving: claim.DeletionTimestamp != nil, Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.UTC(),
		})
	}
	slices.SortFunc(out, func(a, b eventDocument) int {
		switch {
		case a.Standing == b.Standing:
			return cmp.Compare(a.NodeClaim, b.NodeClaim)
		case a.Standing:
			return -1
		}
		return 1
	})
	return out, nil
}

func (q eventsQuery) print(w io.Writer, docs []eventDocument) error {
	if q.output != formatTable {
		return printDocument(w, q.output, docs)
	}
	if len(docs) == 0 {
		_, err := fmt.Fprintln(w, "The cloud has announced nothing that a policy does not ignore.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "NODECLAIM\tNODE\tNODEPOOL\tSTATE\tSINCE\tWHAT")
	for _, d := range docs {
		state := "over"
		switch {
		case d.Leaving:
			state = "leaving"
		case d.Standing:
			state = "standing"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", d.NodeClaim, cmp.Or(d.Node, "-"), cmp.Or(d.NodePool, "-"), state, explain.Stamp(d.Since), d.Message)
	}
	return t.Flush()
}
