package kwok

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups="",namespace=kube-system,resources=configmaps,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=karpenter.kwok.sh,resources=kwoknodeclasses,verbs=get;list;watch

// The loop looks at the world at least every longestPause, because knobs,
// records and Nodes may have changed, and at most every shortestPause.
const (
	longestPause  = time.Second
	shortestPause = 50 * time.Millisecond
	// workers is how many machines the loop plays at once.
	workers = 16
)

var _ manager.LeaderElectionRunnable = (*Provider)(nil)

// NeedLeaderElection is true: one process plays the machines' lives.
func (p *Provider) NeedLeaderElection() bool { return true }

// Start plays the machines' lives until the context ends.
func (p *Provider) Start(ctx context.Context) error {
	for {
		pause, err := p.step(ctx, workers)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			log.FromContext(ctx).Error(err, "playing the simulated machines")
		}
		timer := p.clock.NewTimer(max(pause, shortestPause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// Step does what is due by the clock: machines come up, register, shut down, die
// and disappear, and the Nodes of those that are gone are deleted. It can be cut
// off anywhere and called again. It returns how long nothing will be due, a
// second at most. With an error it has still done what it could. It plays one
// machine after the other, by name, so that simulations repeat exactly.
func (p *Provider) Step(ctx context.Context) (time.Duration, error) { return p.step(ctx, 1) }

func (p *Provider) step(ctx context.Context, workers int) (time.Duration, error) {
	knobs := p.settings.read(ctx)
	now := p.clock.Now()
	machines, err := p.records.list(ctx)
	problems := []error{err}
	var previous time.Time
	if ns := p.stepped.Swap(now.UnixNano()); ns != 0 {
		previous = time.Unix(0, ns)
	}
	problems = append(problems, inParallel(workers, machines, func(m *machine) error {
		dies := knobs.isDead(m.Claim) || knobs.takes(m.Claim, now) || knobs.diesBetween(previous, now, m.Token)
		return p.play(ctx, m, dies, knobs)
	}))
	pause := longestPause
	for _, m := range machines {
		// What is overdue could not be done: it waits for the next look.
		if due := m.due(); due.After(now) {
			pause = min(pause, due.Sub(now))
		}
	}
	if err == nil {
		problems = append(problems, p.deleteOrphans(ctx, machines))
	}
	return pause, errors.Join(problems...)
}

// inParallel calls do for every machine, in order if there is one worker. It
// returns when all are done.
func inParallel(workers int, machines []*machine, do func(*machine) error) error {
	problems := make([]error, len(machines))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(machines)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(machines); i = int(next.Add(1)) - 1 {
				problems[i] = do(machines[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(problems...)
}

// play brings one machine up to date.
func (p *Provider) play(ctx context.Context, m *machine, dies bool, k Knobs) error {
	now := p.clock.Now()
	if m.advance(now, dies, k) {
		if err := p.records.update(ctx, m); err != nil {
			return ignoreStale(err)
		}
	}
	switch {
	case m.shouldRegister(now, k):
		return p.register(ctx, m, k)
	case m.State == gone:
		return p.forget(ctx, m)
	case !m.Registered.IsZero() && m.State == cloud.ShuttingDown:
		return p.silence(ctx, m.nodeName(), recordName(m.Token))
	}
	return nil
}

// ignoreStale drops the error of a write that was based on an old record: the
// next step sees the new one.
func ignoreStale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// register creates the machine's Node, once. It looks at the record itself
// first, since a cached one may not know of a Node that has come and gone.
func (p *Provider) register(ctx context.Context, listed *machine, k Knobs) error {
	now := p.clock.Now()
	m, err := p.records.get(ctx, listed.Token)
	if err != nil || m == nil || !m.shouldRegister(now, k) {
		return err
	}
	node := m.node()
	err = p.client.Create(ctx, node)
	if apierrors.IsAlreadyExists(err) {
		err = p.ownNode(ctx, m)
	}
	if err != nil {
		return fmt.Errorf("creating Node %s: %w", node.Name, err)
	}
	m.Registered = now
	return ignoreStale(p.records.update(ctx, m))
}

// ownNode makes sure that the Node of the machine's name is this machine's, from
// a step that was cut off.
func (p *Provider) ownNode(ctx context.Context, m *machine) error {
	var node corev1.Node
	if err := p.records.live.Get(ctx, client.ObjectKey{Name: m.nodeName()}, &node); err != nil {
		return err
	}
	if node.Annotations[MachineAnnotation] != recordName(m.Token) {
		return errNameTaken
	}
	return nil
}

// silence makes the sandbox's kubelet on a Node stop.
func (p *Provider) silence(ctx context.Context, name, record string) error {
	var node corev1.Node
	if err := p.client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		return client.IgnoreNotFound(err)
	}
	return p.silenceNode(ctx, &node, record)
}

func (p *Provider) silenceNode(ctx context.Context, node *corev1.Node, record string) error {
	if node.Annotations[MachineAnnotation] != record || node.Annotations[silentAnnotation] == silent {
		return nil
	}
	patch := client.MergeFrom(node.DeepCopy())
	node.Annotations[silentAnnotation] = silent
	if err := client.IgnoreNotFound(p.client.Patch(ctx, node, patch)); err != nil {
		return fmt.Errorf("silencing the kubelet of Node %s: %w", node.Name, err)
	}
	return nil
}

// forget plays the cloud controller manager for a machine that is gone: its Node
// is deleted once it is not Ready, or after a while. Then the record goes.
func (p *Provider) forget(ctx context.Context, m *machine) error {
	record := recordName(m.Token)
	var node corev1.Node
	err := p.client.Get(ctx, client.ObjectKey{Name: m.nodeName()}, &node)
	switch {
	case apierrors.IsNotFound(err):
		return p.records.delete(ctx, m)
	case err != nil:
		return fmt.Errorf("reading Node %s: %w", m.nodeName(), err)
	case node.Annotations[MachineAnnotation] != record:
		return p.records.delete(ctx, m)
	}
	if err := p.silenceNode(ctx, &node, record); err != nil {
		return err
	}
	if node.DeletionTimestamp.IsZero() && snapshot.Ready(&node) && p.clock.Now().Before(m.ForgottenAt) {
		return nil
	}
	if err := p.deleteNode(ctx, &node); err != nil {
		return err
	}
	return p.records.delete(ctx, m)
}

// deleteOrphans deletes the Nodes whose machine's record is not there, as when
// a record is deleted by hand: such a machine is gone too.
func (p *Provider) deleteOrphans(ctx context.Context, machines []*machine) error {
	known := make(map[string]bool, len(machines))
	for _, m := range machines {
		known[recordName(m.Token)] = true
	}
	var nodes corev1.NodeList
	if err := p.client.List(ctx, &nodes, client.MatchingLabels{kwokLabel: kwokFake}); err != nil {
		return fmt.Errorf("listing Nodes: %w", err)
	}
	var problems []error
	for i := range nodes.Items {
		node := &nodes.Items[i]
		record := node.Annotations[MachineAnnotation]
		done := !node.DeletionTimestamp.IsZero() && node.Annotations[silentAnnotation] == silent
		if record == "" || known[record] || done {
			continue
		}
		var cm corev1.ConfigMap
		err := p.records.live.Get(ctx, client.ObjectKey{Namespace: p.records.namespace, Name: record}, &cm)
		if apierrors.IsNotFound(err) {
			err = errors.Join(p.silenceNode(ctx, node, record), p.deleteNode(ctx, node))
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func (p *Provider) deleteNode(ctx context.Context, node *corev1.Node) error {
	if !node.DeletionTimestamp.IsZero() {
		return nil
	}
	err := p.client.Delete(ctx, node, client.Preconditions{UID: &node.UID})
	if err := ignoreStale(err); err != nil {
		return fmt.Errorf("deleting Node %s, whose machine is gone: %w", node.Name, err)
	}
	return nil
}
