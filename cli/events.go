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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/cli/kubeconfig"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// eventsQuery is one call of `millwright events`.
type eventsQuery struct {
	kube    *genericclioptions.ConfigFlags
	connect func(*genericclioptions.ConfigFlags) (client.Reader, error)
	output  string
}

func newEvents(c console) *cobra.Command { return newEventsWith(c, eventsQuery{connect: connect}) }

func newEventsWith(c console, q eventsQuery) *cobra.Command {
	q.kube = kubeconfig.ClusterFlags()
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List what the cloud has announced about machines, and what is done or was done",
		Long: `List the machines that the cloud has announced something about: what is done about
it and when, as the controller has noted on their NodeClaims. Machines that went for
it and are gone are listed for as long as Kubernetes keeps its events, usually an
hour. Machines whose policy ignores the event are not listed.

Then come the DisruptionRequests: what people are asked, what they have answered, and
what came of it. Those that are over are kept for a day.

` + exitCodes(""),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("output", q.output, formatTable, formatJSON, formatYAML); err != nil {
				return err
			}
			reader, err := q.connect(q.kube)
			if err != nil {
				return err
			}
			doc, err := announced(cmd.Context(), reader)
			if err != nil {
				return err
			}
			return q.print(c.Out, doc)
		},
	}
	cmd.Flags().StringVarP(&q.output, "output", "o", formatTable, "table, json or yaml")
	complete(cmd, "output", formatTable, formatJSON, formatYAML)
	q.kube.AddFlags(cmd.Flags())
	return cmd
}

// eventsDocument is everything in JSON and YAML.
type eventsDocument struct {
	Machines []eventDocument   `json:"machines"`
	Requests []requestDocument `json:"requests"`
}

// eventDocument is one machine.
type eventDocument struct {
	NodeClaim string `json:"nodeClaim"`
	Node      string `json:"node,omitempty"`
	NodePool  string `json:"nodePool,omitempty"`
	// Standing is false once the cloud announces nothing about it any more.
	Standing bool `json:"standing"`
	// Leaving is true while it is being taken away, Gone once it has been.
	Leaving bool      `json:"leaving"`
	Gone    bool      `json:"gone"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
}

func (d *eventDocument) state() string {
	switch {
	case d.Gone:
		return "gone"
	case d.Leaving:
		return "leaving"
	case d.Standing:
		return "standing"
	}
	return "over"
}

// requestDocument is one DisruptionRequest.
type requestDocument struct {
	Name      string                 `json:"name"`
	NodeClaim string                 `json:"nodeClaim"`
	Event     string                 `json:"event"`
	Action    v1alpha1.RequestAction `json:"action"`
	Decision  v1alpha1.Decision      `json:"decision,omitempty"`
	Comment   string                 `json:"comment,omitempty"`
	Phase     v1alpha1.RequestPhase  `json:"phase"`
	Since     time.Time              `json:"since"`
	Message   string                 `json:"message"`
}

// announced puts everything together.
func announced(ctx context.Context, reader client.Reader) (*eventsDocument, error) {
	machines, err := interrupted(ctx, reader)
	if err != nil {
		return nil, err
	}
	past, err := wentFor(ctx, reader, machines)
	if err != nil {
		return nil, err
	}
	requests, err := asked(ctx, reader)
	if err != nil {
		return nil, err
	}
	return &eventsDocument{Machines: append(machines, past...), Requests: requests}, nil
}

// wentFor lists the machines that Kubernetes' events say have gone because of an
// interruption and that are not listed already, the latest first.
func wentFor(ctx context.Context, reader client.Reader, listed []eventDocument) ([]eventDocument, error) {
	var list corev1.EventList
	if err := reader.List(ctx, &list, client.MatchingFields{"reason": apply.TerminatingOnInterruption}); err != nil {
		return nil, fmt.Errorf("listing events: %w", err)
	}
	seen := map[string]bool{}
	for _, d := range listed {
		seen[d.NodeClaim] = true
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int {
		return cmp.Or(b.LastTimestamp.Compare(a.LastTimestamp.Time), cmp.Compare(a.InvolvedObject.Name, b.InvolvedObject.Name))
	})
	var out []eventDocument
	for i := range list.Items {
		e := &list.Items[i]
		if name := e.InvolvedObject.Name; e.InvolvedObject.Kind == "NodeClaim" && !seen[name] {
			seen[name] = true
			out = append(out, eventDocument{NodeClaim: name, Gone: true, Reason: e.Reason, Message: e.Message, Since: e.LastTimestamp.UTC()})
		}
	}
	return out, nil
}

// asked lists the requests, those that wait for an answer first, then by name.
func asked(ctx context.Context, reader client.Reader) ([]requestDocument, error) {
	var list v1alpha1.DisruptionRequestList
	if err := reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing DisruptionRequests: %w", err)
	}
	out := []requestDocument{}
	for i := range list.Items {
		r := &list.Items[i]
		out = append(out, requestDocument{
			Name: r.Name, NodeClaim: r.Spec.NodeClaim, Event: r.Spec.Event, Action: r.Spec.Action, Decision: r.Spec.Decision, Comment: r.Spec.Comment,
			Phase: r.Status.Phase, Since: r.Status.Since.UTC(), Message: r.Status.Message,
		})
	}
	slices.SortFunc(out, func(a, b requestDocument) int { return cmp.Compare(a.Name, b.Name) })
	open := func(d requestDocument) bool { return d.Phase == v1alpha1.RequestProposed }
	waiting := slices.DeleteFunc(slices.Clone(out), func(d requestDocument) bool { return !open(d) })
	out = append(waiting, slices.DeleteFunc(out, open)...)
	return out, nil
}

// interrupted lists the claims with the condition, those that stand first, then by name.
func interrupted(ctx context.Context, reader client.Reader) ([]eventDocument, error) {
	var list karpv1.NodeClaimList
	if err := reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing NodeClaims: %w", err)
	}
	out := []eventDocument{}
	for i := range list.Items {
		claim := &list.Items[i]
		c := claim.StatusConditions().Get(snapshot.Interrupted)
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

func (q eventsQuery) print(w io.Writer, doc *eventsDocument) error {
	if q.output != formatTable {
		return printDocument(w, q.output, doc)
	}
	if len(doc.Machines)+len(doc.Requests) == 0 {
		_, err := fmt.Fprintln(w, "No announcement of the cloud is on record; what a policy ignores is not listed.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	if len(doc.Machines) > 0 {
		fmt.Fprintln(t, "NODECLAIM\tNODE\tNODEPOOL\tSTATE\tSINCE\tWHAT")
		for _, d := range doc.Machines {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", d.NodeClaim, cmp.Or(d.Node, "-"), cmp.Or(d.NodePool, "-"), d.state(), explain.Stamp(d.Since), d.Message)
		}
	}
	if err := t.Flush(); err != nil || len(doc.Requests) == 0 {
		return err
	}
	fmt.Fprintln(t, "\nREQUEST\tNODECLAIM\tACTION\tPHASE\tSINCE\tWHAT")
	for _, d := range doc.Requests {
		phase, since := cmp.Or(string(d.Phase), "-"), "-"
		if !d.Since.IsZero() {
			since = explain.Stamp(d.Since)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", d.Name, d.NodeClaim, d.Action, phase, since, d.Message)
	}
	return t.Flush()
}
