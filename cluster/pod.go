package cluster

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/disruption/idle"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func (s *Store) putPod(pod *corev1.Pod) {
	k := key(pod)
	old, ok := s.pods[k]
	if !Waits(pod) || ok && old.UID != pod.UID {
		s.forgetPlanned(pod)
	}
	s.dropPod(k)
	if eviction.Terminal(pod) {
		s.end(pod)
		return
	}
	wrapped := s.wrap(pod)
	s.classes.Follow(wrapped, old)
	s.pods[k] = wrapped
	s.spreads.Put(pod)
	s.daemonSets.putPod(wrapped)
	s.owners.count(wrapped, 1)
	switch {
	case pod.Spec.NodeName != "":
		on := s.podsOf[pod.Spec.NodeName]
		if on == nil {
			on = newTable[*snapshot.Pod]()
			s.podsOf[pod.Spec.NodeName] = on
		}
		on.put(k, wrapped)
		s.machines.touch(pod.Spec.NodeName)
	case Waits(pod), s.options.Offline && gated(pod):
		s.waiting.put(k, wrapped, unschedulable(pod) || s.options.Offline && (gated(pod) || pod.Status.Phase == ""))
	}
}

// Found records that the API server has a pod on a Node. It stays in the snapshots as unseen
// until a watch has told of it, or of any later state of a pod: watches keep the order. A pod that
// is gone before a watch begins anew is never told of, so it is forgotten after a while.
func (s *Store) Found(pod *snapshot.Pod, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := s.told
	if s.unseen != nil {
		latest = s.unseen.Pod
	}
	if latest == nil || supersedes(pod.Pod, latest) {
		s.unseen, s.found = pod, now
	}
}

// unseenFor is how long a pod that was found is remembered. It is longer than any watch lasts.
const unseenFor = 15 * time.Minute

// unseenAt is the pod that is unseen now, nil if there is none.
func (s *Store) unseenAt(now time.Time) *snapshot.Pod {
	if s.unseen != nil && !now.Before(s.found.Add(unseenFor)) {
		s.unseen = nil
	}
	return s.unseen
}

// tell takes in that a watch told of a pod.
func (s *Store) tell(pod *corev1.Pod) {
	if s.told == nil || supersedes(pod, s.told) {
		s.told = pod
	}
	if s.unseen != nil && !supersedes(s.unseen.Pod, s.told) {
		s.unseen = nil
	}
}

// keptEnded bounds the workloads that are remembered for a Node.
const keptEnded = 100

// end remembers that a pod of a workload ended on a Node by itself, which is what there is to
// tell of pods that end and are deleted before the next look. The oldest workload makes room
// for another.
func (s *Store) end(pod *corev1.Pod) {
	node, workload, at := pod.Spec.NodeName, backoff.Workload(&snapshot.Pod{Pod: pod}), idle.Ended(pod)
	last, known := s.ended[node][workload]
	if !idle.EndedItself(pod) || known && !at.After(last) {
		return
	}
	after := map[string]time.Time{}
	maps.Copy(after, s.ended[node])
	if after[workload] = at; len(after) > keptEnded {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(after)), func(a, b string) int {
			return cmp.Or(after[a].Compare(after[b]), cmp.Compare(a, b))
		})
		delete(after, oldest)
	}
	s.ended[node] = after
	s.machines.touch(node)
}

// forgetPlanned forgets what the latest plan says of a pod: another of its name may come.
func (s *Store) forgetPlanned(pod *corev1.Pod) {
	delete(s.nominated, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
}

func (s *Store) dropPod(k string) {
	old, ok := s.pods[k]
	if !ok {
		return
	}
	delete(s.pods, k)
	s.spreads.Drop(old.Pod)
	s.daemonSets.dropPod(old)
	s.owners.count(old, -1)
	s.waiting.drop(k, old)
	if on := s.podsOf[old.Spec.NodeName]; on != nil {
		on.drop(k)
		s.machines.touch(old.Spec.NodeName)
		if len(on.byKey) == 0 {
			delete(s.podsOf, old.Spec.NodeName)
		}
	}
}

// Waits reports whether a pod of a live cluster has no node and may need a machine:
// kube-scheduler has found none for it, or has not tried it yet. A nomination only says where a pod
// is expected.
func Waits(pod *corev1.Pod) bool {
	ended := eviction.Terminal(pod) || eviction.Terminating(pod)
	follows := eviction.Daemon(pod) || eviction.Mirror(pod)
	return !ended && !follows && pod.Spec.NodeName == "" && !gated(pod)
}

func gated(pod *corev1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 }

func unschedulable(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}
