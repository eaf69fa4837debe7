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
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// question is one call of `millwright why`.
type question struct {
	kube    *genericclioptions.ConfigFlags
	connect func(*genericclioptions.ConfigFlags) (client.Reader, error)
	clock   clock.PassiveClock
	// types names the instance types; see addInstanceTypes.
	types string
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
	if kind == kindPod || kind == kindPool {
		err = q.explainDecided(ctx, &b, reader, in, kind, name)
	} else {
		err = q.explainMachines(ctx, &b, reader, in, kind, name)
	}
	if err != nil {
		return err
	}
	if len(in.unread) > 0 {
		fmt.Fprintf(&b, "Not readable for you, so that the gates may be incomplete: %s\n", strings.Join(in.unread, ", "))
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// explainDecided answers about pods and pools.
func (q question) explainDecided(ctx context.Context, b *strings.Builder, reader client.Reader, in *inventory, kind, name string) error {
	cluster, err := q.decided(ctx, reader, in)
	if err != nil {
		return err
	}
	if kind == kindPool {
		return cluster.Pool(b, name)
	}
	namespace, _, err := q.kube.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fmt.Errorf("reading the namespace from the kubeconfig: %w", err)
	}
	return cluster.Pod(b, namespace, name)
}

// explainMachines answers about Nodes and NodeClaims.
func (q question) explainMachines(ctx context.Context, b *strings.Builder, reader client.Reader, in *inventory, kind, name string) error {
	going, err := in.explainDrain(ctx, reader, b, kind, name)
	if err != nil || going {
		return err
	}
	found, missing := in.find(kind, name)
	if missing != "" {
		return errors.New(missing)
	}
	for _, m := range found {
		if err := q.explain(ctx, b, reader, in, m); err != nil {
			return err
		}
	}
	return nil
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

// explain answers about one machine; of one that works it says why it stays.
func (q question) explain(ctx context.Context, b *strings.Builder, reader client.Reader, in *inventory, m *machine) error {
	m.explain(b, in.now)
	if _, works := m.initialized(); !works {
		return nil
	}
	cluster, err := q.decided(ctx, reader, in)
	if err == nil {
		cluster.Machine(b, m.claim.Name)
	}
	return err
}

// explain writes the verdict, the gates and what would have to change.
func (m *machine) explain(b *strings.Builder, now time.Time) {
	m.explainHealth(b)
	if at, ok := m.initialized(); ok {
		fmt.Fprintf(b, "%s is ready for work since %s, %v after its claim was created.\n", m.title(), stamp(at), at.Sub(m.claim.Created).Round(time.Second))
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
