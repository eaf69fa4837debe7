package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/controllers"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// question is one call of `millwright why`.
type question struct {
	kube    *genericclioptions.ConfigFlags
	connect func(*genericclioptions.ConfigFlags) (client.Reader, error)
	clock   clock.PassiveClock
	// types names the instance types; see addInstanceTypes.
	types  string
	output string
}

func newWhy(c console) *cobra.Command {
	return newWhyWith(c, question{connect: connect, clock: clock.RealClock{}})
}

func newWhyWith(c console, q question) *cobra.Command {
	q.kube = genericclioptions.NewConfigFlags(true)
	cmd := &cobra.Command{
		Use:   "why node|claim|pod|pool NAME",
		Short: "Say why a pod waits, or a machine is not ready, stays or goes, and what would have to change",
		Long: `Say why, and what would have to change.

Of a machine that does not work yet: what it waits for, and every gate with the
time since when it is open or closed. Of one that works: why it stays, or why it is
on its way out. Of one that is broken: what is wrong and what is done about it. Of
one that is being taken away: what that waits for, the deadline, and what would
unblock it. Of a pod (--namespace): the machine that it gets, or for
every NodePool what is in the way. Of a NodePool: its machines by what holds for them.

It is worked out from the cluster's objects as the controller works it out, for the
instance types of --instance-types. No access to the controller is needed.

` + exitCodes,
		Example: `  millwright why node ip-10-0-0-1.ec2.internal
  millwright why claim general-x7k2p
  millwright why pod web-0 --namespace shop
  millwright why pool general`,
		Args:      cobra.ExactArgs(2),
		ValidArgs: []string{kindNode, kindClaim, kindPod, kindPool},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("output", q.output, formatText, formatJSON, formatYAML); err != nil {
				return err
			}
			kind, err := kindOf(args[0], kindNode, kindClaim, kindPod, kindPool)
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
	addInstanceTypes(cmd, &q.types)
	cmd.Flags().StringVarP(&q.output, "output", "o", formatText, "text, json or yaml")
	complete(cmd, "output", formatText, formatJSON, formatYAML)
	q.kube.AddFlags(cmd.Flags())
	return cmd
}

func (q question) run(ctx context.Context, w io.Writer, reader client.Reader, kind, name string) error {
	in, err := take(ctx, reader, q.clock.Now(), true)
	if err != nil {
		return err
	}
	answers, err := q.answer(ctx, reader, in, kind, name)
	if err != nil {
		return err
	}
	if q.output != formatText {
		return printDocument(w, q.output, whyDoc{Answers: answers, Unreadable: append([]string{}, in.unread...)})
	}
	for _, a := range answers {
		if _, err := io.WriteString(w, a.Text()); err != nil {
			return err
		}
	}
	if len(in.unread) > 0 {
		_, err = fmt.Fprintf(w, "Not readable for you, so that the gates may be incomplete: %s\n", strings.Join(in.unread, ", "))
	}
	return err
}

// whyDoc is what why prints for programs. Two claims for one Node give two answers.
type whyDoc struct {
	Answers []*explain.Answer `json:"answers"`
	// Unreadable are the kinds that the user may not list, so that gates may be
	// missing.
	Unreadable []string `json:"unreadable"`
}

func (q question) answer(ctx context.Context, reader client.Reader, in *inventory, kind, name string) ([]*explain.Answer, error) {
	switch kind {
	case kindPod, kindPool:
		a, err := q.aboutDecided(ctx, reader, in, kind, name)
		return []*explain.Answer{a}, err
	}
	if node := in.going(kind, name); node != nil {
		v, err := in.drainView(ctx, reader, node)
		if err != nil {
			return nil, err
		}
		return []*explain.Answer{explain.Drain(v, drain.Next(v))}, nil
	}
	found, missing := in.find(kind, name)
	if missing != "" {
		return nil, errors.New(missing)
	}
	var out []*explain.Answer
	for _, m := range found {
		a := m.Answer(in.now)
		if _, works := m.Initialized(); works {
			cluster, err := q.decided(ctx, reader, in)
			if err != nil {
				return nil, err
			}
			cluster.Machine(a)
		}
		out = append(out, a)
	}
	return out, nil
}

// aboutDecided answers about pods and pools.
func (q question) aboutDecided(ctx context.Context, reader client.Reader, in *inventory, kind, name string) (*explain.Answer, error) {
	cluster, err := q.decided(ctx, reader, in)
	if err != nil {
		return nil, err
	}
	if kind == kindPool {
		return cluster.Pool(name)
	}
	namespace, _, err := q.kube.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the namespace from the kubeconfig: %w", err)
	}
	a, err := cluster.Pod(namespace, name)
	if err != nil || a.Verdict != explain.NeedsNode {
		return a, err
	}
	said, at, err := q.said(ctx, reader, in, a.Object)
	if said != "" {
		a.Contradict(said, at)
	}
	return a, err
}

// current is how old an event may be that still holds: the controller repeats the one
// about a pod without a machine after five minutes.
const current = 6 * time.Minute

// said is what the controller said last of a pod for which it has no machine, empty if
// that is nothing or old: it knows what the cloud refused a moment ago, which no object
// says.
func (q question) said(ctx context.Context, reader client.Reader, in *inventory, pod plan.ObjectRef) (text string, at time.Time, err error) {
	var events corev1.EventList
	err = reader.List(ctx, &events, client.InNamespace(pod.Namespace), client.MatchingFields{"involvedObject.name": pod.Name})
	if apierrors.IsForbidden(err) {
		in.unread = append(in.unread, fmt.Sprintf("%T", &events))
		return "", at, nil
	}
	for _, e := range events.Items {
		ours := e.Source.Component == controllers.EventSource && e.Reason == apply.FailedScheduling
		if ours && in.now.Sub(e.LastTimestamp.Time) < current && !e.LastTimestamp.Time.Before(at) {
			text, at = e.Message, e.LastTimestamp.Time
		}
	}
	return text, at, err
}

// decided is the cluster with what the controller would decide about it now.
func (q question) decided(ctx context.Context, reader client.Reader, in *inventory) (*explain.Cluster, error) {
	types, err := instanceTypes(q.types)
	if err != nil {
		return nil, err
	}
	for _, l := range []client.ObjectList{&policyv1.PodDisruptionBudgetList{}, &corev1.NamespaceList{}} {
		if err := in.add(ctx, reader, l); err != nil {
			return nil, err
		}
	}
	return explain.Of(in.store.Snapshot(in.now, func(snapshot.ClassRef) ([]*catalog.Type, error) { return types, nil })), nil
}
