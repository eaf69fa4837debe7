package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
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
	// appeared is when the Node did; booted is later if the machine has rebooted.
	appeared time.Time
	// extended are the resources of device plugins that the machine has.
	extended corev1.ResourceList

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

// reboot replaces a machine by one that boots now: its containers are gone. It returns nil
// if there is none.
func (m *machines) reboot(name string, now time.Time) *machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[name] == nil {
		return nil
	}
	next := *m.all[name]
	next.booted = now
	m.all[name] = &next
	return &next
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
		return &machine{uid: node.UID, booted: now, appeared: now, ip: k.address(node), extended: extended(node.Status.Capacity)}
	})
	settings := k.Knobs.Settings()
	if k.silent(node, settings) {
		return 0, nil
	}
	reboots, again := m.reboots(settings, node)
	if again && !reboots.After(now) {
		m = k.machines.reboot(name, now)
		k.wakePods(name)
	}
	readyAt := m.readyAt(settings, node)
	plugins := m.pluginsAt(settings, node)
	condition, reported := m.condition(settings, node)
	want := report(node, facts{
		ready:   !readyAt.After(now),
		now:     now,
		ip:      m.ip,
		boot:    fmt.Sprintf("%s-%d", m.uid, m.booted.Unix()),
		version: k.Version,
		inUse:   k.inUse.names(name),
		devices: m.devices(settings, node, now), condition: condition, reported: !reported.After(now),
	})
	if err := k.patchNode(ctx, node, want); err != nil {
		return 0, err
	}
	twin, err := k.playTwin(ctx, node, m.appeared, now)
	if err != nil {
		return 0, err
	}
	if !m.leaseDue.After(now) {
		if err := k.renewLease(ctx, node, m, now); err != nil {
			return 0, err
		}
	}
	return untilNext(now, readyAt, m.leaseDue, reboots, plugins, reported, twin), nil
}

// address is what the machine gets: the one it is told to have, or a new one.
func (k *Kubelets) address(node *corev1.Node) string {
	if ip, ok := k.Knobs.Settings().Lookup(knobs.NodeIP, knobs.OfNode(node)); ok {
		return ip
	}
	return k.ips.node()
}

func (m *machine) readyAt(s knobs.Settings, node *corev1.Node) time.Time {
	of := knobs.OfNode(node)
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(m.uid)) // never fails
	spread := float64(hash.Sum32()) / math.MaxUint32 * float64(s.Duration(knobs.NodeReadySpread, of))
	return m.booted.Add(s.Duration(knobs.NodeReadyDelay, of) + time.Duration(spread))
}

// reboots is when the machine reboots, and whether it still has to.
func (m *machine) reboots(s knobs.Settings, node *corev1.Node) (time.Time, bool) {
	after := s.Duration(knobs.NodeRebootAfter, knobs.OfNode(node))
	return m.appeared.Add(after), after > 0 && m.booted.Equal(m.appeared)
}

func (m *machine) pluginsAt(s knobs.Settings, node *corev1.Node) time.Time {
	return m.booted.Add(s.Duration(knobs.DevicePluginDelay, knobs.OfNode(node)))
}

// devices are the extended resources to report: what the machine has, or nothing
// of it while their plugins do not work.
func (m *machine) devices(s knobs.Settings, node *corev1.Node, now time.Time) corev1.ResourceList {
	if !s.On(knobs.DevicePluginHang, knobs.OfNode(node)) && !m.pluginsAt(s, node).After(now) {
		return m.extended
	}
	none := corev1.ResourceList{}
	for name := range m.extended {
		none[name] = resource.MustParse("0")
	}
	return none
}

// condition is a further condition to report, and from when on; empty if there is
// none.
func (m *machine) condition(s knobs.Settings, node *corev1.Node) (string, time.Time) {
	text, ok := s.Lookup(knobs.NodeCondition, knobs.OfNode(node))
	if !ok {
		return "", time.Time{}
	}
	return text, m.booted.Add(s.Duration(knobs.NodeConditionDelay, knobs.OfNode(node)))
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
// is written that another client may be changing. The status subresource takes
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
	client, err := k.Nodes(have.Name)
	if err != nil {
		return err
	}
	_, err = client.Core.Nodes().Patch(ctx, have.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !errors.IsNotFound(err) {
		return fmt.Errorf("patching node %s: %w", have.Name, err)
	}
	return nil
}
