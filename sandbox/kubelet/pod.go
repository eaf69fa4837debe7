package kubelet

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/sandbox/knobs"
	"github.com/millwright-dev/millwright/sandbox/kubelet/life"
)

// podKey names one pod for good: a namesake that follows has another UID.
type podKey struct {
	types.NamespacedName
	uid types.UID
}

func keyOf(pod *corev1.Pod) podKey {
	return podKey{types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, pod.UID}
}

// record is what the machine knows of a pod. Only the worker that holds the
// pod's key touches it.
type record struct {
	machine *machine
	node    string
	life    life.Life
	ip      string
	// volumes is set once they are known, and emptied when they are unmounted.
	volumes  []volume
	resolved bool
}

// records is safe for concurrent use.
type records struct {
	mu  sync.Mutex
	all map[podKey]*record
}

func (r *records) get(key podKey) *record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[key]
}

func (r *records) put(key podKey, rec *record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[podKey]*record{}
	}
	r.all[key] = rec
}

func (r *records) remove(key podKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, key)
}

// syncPod moves one pod on.
func (k *Kubelets) syncPod(ctx context.Context, key podKey) (time.Duration, error) {
	pod, err := k.podLister.Pods(key.Namespace).Get(key.Name)
	if errors.IsNotFound(err) || (err == nil && pod.UID != key.uid) {
		k.syncOrphan(key)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	node, err := k.nodeLister.Get(pod.Spec.NodeName)
	if errors.IsNotFound(err) {
		k.records.remove(key)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	m := k.machines.get(node)
	if m == nil || !k.runsPods(node, m, pod) {
		return 0, nil // booting, not ready or silent: the node's next event comes back here
	}
	rec, err := k.admit(key, pod, m)
	if err != nil {
		return 0, err
	}
	return k.step(ctx, key, pod, node, rec)
}

// runsPods says whether the kubelet of the node does anything for the pod now.
// Pods on the host's network need no network to be ready.
func (k *Kubelets) runsPods(node *corev1.Node, m *machine, pod *corev1.Pod) bool {
	settings := k.Knobs.Settings()
	if k.silent(node, settings) {
		return false
	}
	return pod.Spec.HostNetwork || !m.readyAt(settings, node).After(k.Clock.Now())
}

// admit finds the record of a pod, or makes one on a machine that does not
// know the pod, and has the pod's volumes count as in use.
func (k *Kubelets) admit(key podKey, pod *corev1.Pod, m *machine) (*record, error) {
	rec := k.records.get(key)
	if rec == nil || rec.machine != m {
		rec = &record{machine: m, node: pod.Spec.NodeName}
		if !pod.Spec.HostNetwork {
			rec.ip = k.ips.pod()
		}
		k.records.put(key, rec)
	}
	if rec.resolved || finished(pod) {
		return rec, nil
	}
	volumes, err := k.volumesOf(pod)
	if err != nil {
		return nil, err
	}
	rec.volumes, rec.resolved = volumes, true
	if k.inUse.hold(rec.node, key, volumes) {
		k.nodes.Add(rec.node)
	}
	return rec, nil
}

// step asks package life what comes next, and does it.
func (k *Kubelets) step(ctx context.Context, key podKey, pod *corev1.Pod, node *corev1.Node, rec *record) (time.Duration, error) {
	now := k.Clock.Now()
	hostIP := nodeAddress(&node.Status, corev1.NodeInternalIP)
	if hostIP == "" {
		hostIP = rec.machine.ip
	}
	in := life.Input{
		Pod: pod, Life: rec.life, Now: now,
		Timing:     k.timing(pod, node),
		CanMount:   k.canMount(node, rec.volumes),
		CanUnmount: k.canUnmount(node, rec.volumes),
		HostIP:     hostIP, PodIP: rec.ip,
	}
	if pod.Spec.HostNetwork {
		in.PodIP = hostIP
	}
	out := life.Step(in)
	if err := k.writeStatus(ctx, pod, out.Status); err != nil {
		return 0, err
	}
	rec.life = out.Life
	if out.Life.Unmounted {
		k.release(key, rec)
	}
	if out.Remove {
		return 0, k.removePod(ctx, pod)
	}
	if out.Wake.IsZero() {
		return 0, nil
	}
	return untilNext(now, out.Wake), nil
}

// timing collects the knobs that concern a pod.
func (k *Kubelets) timing(pod *corev1.Pod, node *corev1.Node) life.Timing {
	s := k.Knobs.Settings()
	p, n := knobs.OfPod(pod), knobs.OfNode(node)
	t := life.Timing{
		Start:    s.Duration(knobs.PodStartDelay, p, n),
		Init:     s.Duration(knobs.PodInitDuration, p, n),
		Stop:     s.Duration(knobs.PodStopDelay, p, n),
		Exec:     s.Duration(knobs.PreStopExecDuration, p, n),
		ExitCode: s.Count(knobs.PodExit, p),
	}
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" {
		t.Crashes = s.Count(knobs.AgentCrash, n)
	}
	_, runs := s.Lookup(knobs.PodRunFor, p)
	_, exits := s.Lookup(knobs.PodExit, p)
	if runs || exits {
		d := s.Duration(knobs.PodRunFor, p)
		t.RunFor = &d
	}
	return t
}

// writeStatus replaces the status if it differs. An outdated pod is refused by
// the API server, and the newer version comes back here by itself.
func (k *Kubelets) writeStatus(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	if equality.Semantic.DeepEqual(pod.Status, status) {
		return nil
	}
	want := pod.DeepCopy()
	want.Status = status
	client, err := k.Nodes(pod.Spec.NodeName)
	if err != nil {
		return err
	}
	_, err = client.Core.Pods(pod.Namespace).UpdateStatus(ctx, want, metav1.UpdateOptions{})
	if err != nil && !errors.IsNotFound(err) {
		return fmt.Errorf("writing pod status: %w", err)
	}
	return nil
}

// removePod ends the pod's object, which has waited for the machine. Finalizers
// may keep it; then there is nothing left to do here.
func (k *Kubelets) removePod(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0 {
		return nil
	}
	client, err := k.Nodes(pod.Spec.NodeName)
	if err != nil {
		return err
	}
	err = client.Core.Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
	if err != nil && !errors.IsNotFound(err) {
		return fmt.Errorf("removing pod: %w", err)
	}
	return nil
}

// syncOrphan cleans up behind a pod whose object went first, by force: its
// volumes still have to be unmounted, if its machine is still there.
func (k *Kubelets) syncOrphan(key podKey) {
	rec := k.records.get(key)
	if rec == nil {
		return
	}
	node, err := k.nodeLister.Get(rec.node)
	if err == nil && k.machines.get(node) == rec.machine {
		if k.silent(node, k.Knobs.Settings()) || !k.canUnmount(node, rec.volumes) {
			return // still in use; what changes that comes back here
		}
	}
	k.release(key, rec)
	k.records.remove(key)
}

// release ends the use of a pod's volumes.
func (k *Kubelets) release(key podKey, rec *record) {
	rec.volumes = nil
	if k.inUse.release(rec.node, key) {
		k.nodes.Add(rec.node)
	}
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
