// Package answer is the commands that answer DisruptionRequests.
package answer

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/cli/kubeconfig"
)

// Config is what the commands share with the others.
type Config struct {
	Out     io.Writer
	Connect func(*genericclioptions.ConfigFlags) (client.Client, error)
	// Needs refuses a command without arguments; Help ends what a command says of itself.
	Needs func(what, example string) cobra.PositionalArgs
	Help  string
}

// decision is one call of `millwright approve` or `millwright deny`.
type decision struct {
	decision v1alpha1.Decision
	verb     string
	comment  string
}

// Approve makes the command that approves.
func Approve(c Config) *cobra.Command {
	return command(c, decision{decision: v1alpha1.Approve, verb: "approve"})
}

// Deny makes the command that denies.
func Deny(c Config) *cobra.Command {
	return command(c, decision{decision: v1alpha1.Deny, verb: "deny"})
}

func command(c Config, d decision) *cobra.Command {
	kube := kubeconfig.ClusterFlags()
	cmd := &cobra.Command{
		Use:   d.verb + " NAME...",
		Short: strings.ToUpper(d.verb[:1]) + d.verb[1:] + " DisruptionRequests",
		Long: fmt.Sprintf(`Set spec.decision of DisruptionRequests to %[2]s, and say what follows. A decision
can be changed until the action begins.

What waits for an answer, and what happens without one, is shown by
  kubectl get disruptionrequests
  kubectl describe disruptionrequest NAME

The same can be done with kubectl, or from Git:
  kubectl patch disruptionrequest NAME --type merge -p '{"spec":{"decision":"%[2]s"}}'

`, d.verb, d.decision) + c.Help,
		Args: c.Needs("which DisruptionRequest", d.verb+" NAME"),
		RunE: func(cmd *cobra.Command, names []string) error {
			api, err := c.Connect(kube)
			if err != nil {
				return err
			}
			for _, name := range names {
				text, err := d.set(cmd.Context(), api, name)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(c.Out, text); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&d.comment, "comment", "", "why, for those who look at the request later")
	kube.AddFlags(cmd.Flags())
	return cmd
}

// set writes the decision and says what follows.
func (d decision) set(ctx context.Context, api client.Client, name string) (string, error) {
	r := &v1alpha1.DisruptionRequest{}
	if err := api.Get(ctx, client.ObjectKey{Name: name}, r); err != nil {
		if apierrors.IsNotFound(err) {
			return "", fmt.Errorf("there is no DisruptionRequest %s: see kubectl get disruptionrequests", name)
		}
		return "", fmt.Errorf("reading DisruptionRequest %s: %w", name, err)
	}
	switch r.Status.Phase {
	case v1alpha1.RequestExpired, v1alpha1.RequestWithdrawn, v1alpha1.RequestDone:
		return "", fmt.Errorf("DisruptionRequest %s is %s: %s", name, r.Status.Phase, r.Status.Message)
	}
	before := r.DeepCopy()
	r.Spec.Decision = d.decision
	if d.comment != "" {
		r.Spec.Comment = d.comment
	}
	if err := api.Patch(ctx, r, client.MergeFrom(before)); err != nil {
		return "", fmt.Errorf("answering DisruptionRequest %s: %w", name, err)
	}
	var all v1alpha1.DisruptionRequestList
	if err := api.List(ctx, &all); err != nil && !apierrors.IsForbidden(err) {
		return "", fmt.Errorf("%s is answered; listing DisruptionRequests: %w", name, err)
	}
	return fmt.Sprintf("%s: %s%s", name, d.follows(r), d.although(r, all.Items)), nil
}

// although names a request about the same machine that is answered the other way.
func (d decision) although(r *v1alpha1.DisruptionRequest, all []v1alpha1.DisruptionRequest) string {
	otherwise := v1alpha1.RequestDenied
	if d.decision == v1alpha1.Deny {
		otherwise = v1alpha1.RequestApproved
	}
	for _, q := range all {
		if q.Spec.NodeClaim == r.Spec.NodeClaim && q.Name != r.Name && q.Status.Phase == otherwise {
			return fmt.Sprintf(", although DisruptionRequest %s is %s: each event is answered on its own", q.Name, otherwise)
		}
	}
	return ""
}

// follows says what a decision leads to.
func (d decision) follows(r *v1alpha1.DisruptionRequest) string {
	what := fmt.Sprintf("%s of NodeClaim %s", r.Spec.Action, r.Spec.NodeClaim)
	switch {
	case d.decision == v1alpha1.Deny && !r.Status.Deadline.IsZero():
		return fmt.Sprintf("denied; %s will not happen because of event %s, and the cloud acts at %s", what, r.Spec.Event, explain.Stamp(r.Status.Deadline.Time))
	case d.decision == v1alpha1.Deny:
		return fmt.Sprintf("denied; %s will not happen because of event %s", what, r.Spec.Event)
	case r.Status.Phase == "":
		return fmt.Sprintf("approved; nothing asks for %s yet: the answer counts once event %s does", what, r.Spec.Event)
	case r.Status.Begins.IsZero():
		return fmt.Sprintf("approved; %s begins at once", what)
	}
	return fmt.Sprintf("approved; %s begins at %s, or at once if that has passed", what, explain.Stamp(r.Status.Begins.Time))
}
