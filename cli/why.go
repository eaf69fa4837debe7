package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"

	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/cli/gates"
	"github.com/millwright-dev/millwright/cli/kubeconfig"
	"github.com/millwright-dev/millwright/cli/running"
	"github.com/millwright-dev/millwright/cli/settings"
	"github.com/millwright-dev/millwright/cli/target"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
)

// question is one call of `millwright why`.
type question struct {
	kube    *genericclioptions.ConfigFlags
	connect func(*genericclioptions.ConfigFlags) (client.Reader, error)
	clock   clock.PassiveClock
	output  string
	about   target.Query

	controller learned
	ignoreDRA  bool
	// assumed are settings that are not known, and by which the answers may go.
	assumed []string

	// known is what the controller would decide, once it is worked out, from these classes' types.
	known *explain.Cluster
	of    *classes.Types
}

func newWhy(c console) *cobra.Command {
	connect, theirs := timed()
	return newWhyWith(c, question{connect: connect, clock: theirs})
}

func newWhyWith(c console, q question) *cobra.Command {
	q.kube = kubeconfig.Flags()
	cmd := &cobra.Command{
		Use:   "why TYPE NAME... | TYPE/NAME... | TYPE [-l SELECTOR] [-A]",
		Short: "Say why a pod waits, or a machine is not ready, stays or goes, and what would have to change",
		Long: `Say why, and what would have to change.

Of a machine that does not work yet: what it waits for, and every gate with the
time since when it is open or closed. Of one that works: why it stays, or why it is
on its way out. Of one that is broken: what is wrong and what is done about it. Of
one that is being taken away: what that waits for, the deadline, and what would
unblock it. Of a pod (--namespace): the node that it gets, or for every NodePool what
is in the way. Of a NodePool: its machines by what holds for them. Of a CapacityBuffer
(--namespace): for how many chunks there is room and where, and why not for more. A Deployment,
ReplicaSet, StatefulSet, DaemonSet or Job stands for its pods. A type without names is all
objects of it, but of nodes those of NodePools, and of pods those that have no node.

It is worked out from the cluster's objects as the controller works it out, for the
settings that its pod has by flags and variables, unless they are given here. The pod is
the one that holds the controller's lease. No access to the controller is needed.

` + exitCodes(""),
		Example: `  millwright why node/ip-10-0-0-1.ec2.internal
  millwright why nodeclaim general-x7k2p
  millwright why pod web-0 web-1 --namespace shop
  millwright why pods --all-namespaces
  millwright why deployment/web -n shop
  millwright why nodes -l karpenter.sh/nodepool=general
  millwright why nodepool general -o json
  millwright why capacitybuffer room -n shop`,
		Args:              needs("which object", "why pod/NAME"),
		ValidArgsFunction: q.about.Complete(q.connect, q.kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("output", q.output, formatText, formatJSON, formatYAML); err != nil {
				return err
			}
			reader, err := q.connect(q.kube)
			if err != nil {
				return err
			}
			defer func() { q.of.Tell(c.note) }()
			return q.run(cmd.Context(), c, reader, args)
		},
	}
	cmd.Flags().StringVarP(&q.about.Selector, "selector", "l", "", "label selector, instead of names")
	cmd.Flags().BoolVarP(&q.about.AllNamespaces, "all-namespaces", "A", false, "look in all namespaces, without names")
	q.addSettings(cmd)
	cmd.Flags().StringVarP(&q.output, "output", "o", formatText, "text, json or yaml")
	complete(cmd, "output", formatText, formatJSON, formatYAML)
	q.kube.AddFlags(cmd.Flags())
	return cmd
}

func (q *question) run(ctx context.Context, c console, reader client.Reader, args []string) error {
	namespace, _, err := q.kube.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fmt.Errorf("reading the namespace from the kubeconfig: %w", err)
	}
	about, err := q.about.Parse(ctx, reader, namespace, args)
	if err != nil {
		return err
	}
	in, err := take(ctx, reader, q.clock.Now, true, func() (cluster.Options, error) { return q.learn(ctx, c, reader) })
	if err != nil {
		return err
	}
	var answers []*explain.Answer
	var failed error
	for _, t := range about {
		found, err := q.answer(ctx, reader, in, t)
		answers, failed = append(answers, found...), errors.Join(failed, err)
	}
	if len(answers) == 0 {
		return failed
	}
	return errors.Join(q.print(c.Out, answers, in.unread), failed)
}

func (q *question) print(w io.Writer, answers []*explain.Answer, unread []string) error {
	if q.output != formatText {
		return printDocument(w, q.output, whyDoc{Answers: answers, Unreadable: append([]string{}, unread...), Assumed: q.assumed})
	}
	text := explain.Texts(answers)
	if len(q.assumed) > 0 {
		text += fmt.Sprintf("Settings %s\n", settings.Assumed(q.assumed))
	}
	if len(unread) > 0 {
		text += fmt.Sprintf("Not readable for you, so that the answer may be incomplete: %s\n", strings.Join(unread, ", "))
	}
	_, err := io.WriteString(w, text)
	return err
}

// whyDoc is what why prints for programs. Two claims for one Node give two answers.
type whyDoc struct {
	Answers []*explain.Answer `json:"answers"`
	// Unreadable are the kinds that the user may not list, so that gates may be
	// missing.
	Unreadable []string `json:"unreadable"`
	// Assumed are the controller's settings that are not known and that the answers may go
	// by: they are taken as the defaults.
	Assumed []string `json:"assumed,omitempty"`
}

// answer answers about a target, or about each of the pods that it stands for.
func (q *question) answer(ctx context.Context, reader client.Reader, in *inventory, t target.Target) ([]*explain.Answer, error) {
	switch {
	case t.OfPods():
		return q.pods(ctx, reader, in, t)
	case t.Kind() == target.Buffer:
		var object bufferv1beta1.CapacityBuffer
		if err := t.Get(ctx, reader, &object); err != nil {
			return nil, err
		}
		cluster, err := q.decided(ctx, reader, in)
		if err != nil {
			return nil, err
		}
		return only(cluster.Buffer(&object), nil)
	case t.Kind() == target.Pool:
		cluster, err := q.decided(ctx, reader, in)
		if err != nil {
			return nil, err
		}
		answers, err := only(cluster.Pool(t.Name))
		if err != nil {
			return nil, err
		}
		return answers, attend(ctx, reader, in, cluster, answers, metav1.NamespaceDefault, apply.ReplicasMissing)
	}
	return q.machine(ctx, reader, in, t)
}

func only(a *explain.Answer, err error) ([]*explain.Answer, error) {
	if err != nil {
		return nil, err
	}
	return []*explain.Answer{a}, nil
}

// machine answers about a Node or a NodeClaim.
func (q *question) machine(ctx context.Context, reader client.Reader, in *inventory, t target.Target) ([]*explain.Answer, error) {
	if node := in.going(t.Kind(), t.Name); node != nil {
		v, err := in.drainView(ctx, reader, node)
		if err != nil {
			return nil, err
		}
		return []*explain.Answer{explain.Drain(v, drain.Next(v))}, nil
	}
	found, missing := in.find(t.Kind(), t.Name)
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

// pods answers about the pods that a target stands for.
func (q *question) pods(ctx context.Context, reader client.Reader, in *inventory, t target.Target) ([]*explain.Answer, error) {
	cluster, err := q.decided(ctx, reader, in)
	if err != nil {
		return nil, err
	}
	pods, err := t.Pods(ctx, reader)
	if len(pods) == 0 {
		return nil, err
	}
	pods = slices.DeleteFunc(pods, func(p *corev1.Pod) bool {
		ended := eviction.Terminal(p)
		if ended {
			err = errors.Join(err, fmt.Errorf("%s has ended", plan.PodRef(p)))
		}
		return ended
	})
	answers := cluster.Pods(pods)
	return answers, errors.Join(err, attend(ctx, reader, in, cluster, answers, t.Namespace, apply.FailedScheduling))
}

// attend adds to answers that promise machines what events of a reason, in a namespace, and leases
// tell of the controller.
func attend(ctx context.Context, reader client.Reader, in *inventory, cluster *explain.Cluster, answers []*explain.Answer, namespace, reason string) error {
	if !slices.ContainsFunc(answers, (*explain.Answer).Promises) {
		return nil
	}
	controller, unread, err := running.Read(ctx, reader, in.now, namespace, reason)
	in.unread = append(in.unread, unread...)
	cluster.Attend(answers, controller)
	return err
}

// decided is the cluster with what the controller would decide about it now.
func (q *question) decided(ctx context.Context, reader client.Reader, in *inventory) (*explain.Cluster, error) {
	if q.known != nil {
		return q.known, nil
	}
	types, err := instanceTypes(q.controller.types)
	if err != nil {
		return nil, err
	}
	err = in.add(ctx, reader, &policyv1.PodDisruptionBudgetList{}, &corev1.NamespaceList{}, &bufferv1beta1.CapacityBufferList{})
	if err == nil && in.buffered {
		err = in.add(ctx, reader, &corev1.PodTemplateList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.ReplicaSetList{})
	}
	if err != nil {
		return nil, err
	}
	found, err := classes.List(ctx, reader)
	if apierrors.IsForbidden(err) {
		in.unread = append(in.unread, "EC2NodeClasses")
	} else if err != nil {
		return nil, err
	}
	known, err := classes.New(types, q.controller.planning.Machines, found)
	if err != nil {
		return nil, err
	}
	options := disruption.Options{TerminateFirstDrift: q.controller.gates.On(gates.TerminateFirstDrift)}
	q.controller.planning.Set(&options.Placement)
	s := in.store.Snapshot(in.now, known.Of)
	q.known, q.of, q.assumed = explain.Of(s, options, in.store.Wrap), known, settings.Matter(q.controller.unknown, s)
	return q.known, nil
}
