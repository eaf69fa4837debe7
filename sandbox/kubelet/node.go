package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/millwright-dev/millwright/sandbox/knobs"
)

// machine is what stands behind a Node object while that object exists.
type machine struct {
	uid    types.UID // of the Node
	booted time.Time
	ip     string // where the Node has none yet

	// Only the worker that holds the node's key touches these.
	lease    *coordinationv1.Lease
	leaseDue time.Time
}

// machines is safe for concurrent use.
type machines struct {
	mu  sync.Mutex
	all map[string]*machine
}

// boot returns the machine of a node and makes one for a node it has not seen.
func (m *machines) boot(node *corev1.Node, fresh func() *machine) *machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.all[node.Name]; known != nil && known.uid == node.UID {
		return known
	}
	if m.all == nil {
		m.all = map[string]*machine{}
	}
	m.all[node.Name] = fresh()
	return m.all[node.Name]
}

// get returns the machine of a node, nil if it has not booted.
func (m *machines) get(node *corev1.Node) *machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.all[node.Name]; known != nil && known.uid == node.UID {
		return known
	}
	return nil
}

func (m *machines) remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, name)
}

// syncNode keeps one node alive.
func (k *Kubelets) syncNode(ctx context.Context, name string) (time.Duration, error) {
	node, err := k.nodeLister.Get(name)
	if errors.IsNotFound(err) {
		k.machines.remove(name)
		k.inUse.forget(name)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	now := k.Clock.Now()
	m := k.machines.boot(node, func() *machine {
		k.inUse.forget(name)
		return &machine{uid: node.UID, booted: now, ip: k.ips.node()}
	})
	settings := k.Knobs.Settings()
	if settings.On(knobs.KubeletSilent, knobs.OfNode(node)) {
		return 0, nil
	}
	readyAt := m.readyAt(settings, node)
	want := report(node, facts{
		ready:   !readyAt.After(now),
		now:     now,
		ip:      m.ip,
		boot:    fmt.Sprintf("%s-%d", m.uid, m.booted.Unix()),
		version: k.Version,
		inUse:   k.inUse.names(name),
	})
	if err := k.patchNode(ctx, node, want); err != nil {
		return 0, err
	}
	if !m.leaseDue.After(now) {
		if err := k.renewLease(ctx, node, m, now); err != nil {
			return 0, err
		}
	}
	return untilNext(now, readyAt, m.leaseDue), nil
}

func (m *machine) readyAt(s knobs.Settings, node *corev1.Node) time.Time {
	return m.booted.Add(s.Duration(knobs.NodeReadyDelay, knobs.OfNode(node)))
}

// untilNext is the time until the earlier of the moments that are to come.
func untilNext(now time.Time, moments ...time.Time) time.Duration {
	var next time.Duration
	for _, t := range moments {
		if d := t.Sub(now); d > 0 && (next == 0 || d < next) {
			next = d
		}
	}
	return next
}

// patchNode sends the difference between two states of a node, so that nothing
// is written that somebody else may be changing. The status subresource takes
// labels and annotations as well.
func (k *Kubelets) patchNode(ctx context.Context, have, want *corev1.Node) error {
	before, err := json.Marshal(have)
	if err != nil {
		return fmt.Errorf("encoding node: %w", err)
	}
	after, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("encoding node: %w", err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Node{})
	if err != nil {
		return fmt.Errorf("comparing node: %w", err)
	}
	if string(patch) == "{}" {
		return nil
	}
	_, err = k.Client.CoreV1().Nodes().Patch(ctx, have.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !errors.IsNotFound(err) {
		return fmt.Errorf("patching node %s: %w", have.Name, err)
	}
	return nil
}
