package cluster

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Nominate records which machine, by the name of its Node or claim, the latest
// plan counts on for each pending pod; a pod for which it has none is there with
// an empty name. It replaces what an earlier plan said. A nomination is never
// older than its plan, and a snapshot shows only those of pods that are still
// pending, so none has to be taken back.
//
// Expected are the machines of pods that a controller, by its UID, is about to create:
// each pod of it that the plan does not know takes the place of one.
func (s *Store) Nominate(machines map[types.NamespacedName]string, expected map[types.UID][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nominated, s.expected = maps.Clone(machines), maps.Clone(expected)
	s.planned = map[string][]types.NamespacedName{}
	for pod, machine := range machines {
		s.planned[machine] = append(s.planned[machine], pod)
	}
}

// place is the machine that the latest plan counts on for a pending pod, and whether the
// plan has decided about it.
func (s *Store) place(pod *snapshot.Pod) (machine string, known bool) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	if machine, known = s.nominated[name]; known {
		return machine, true
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || len(s.expected[owner.UID]) == 0 {
		return "", false
	}
	machine = s.expected[owner.UID][0]
	s.expected[owner.UID] = s.expected[owner.UID][1:]
	s.nominated[name] = machine
	s.planned[machine] = append(s.planned[machine], name)
	return machine, true
}

// Waiting reports whether there are pending pods.
func (s *Store) Waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting.refused.byKey) > 0
}

// Knows reports whether the latest plan has decided about a pod.
func (s *Store) Knows(pod types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.nominated[pod]; known {
		return true
	}
	waiting, waits := s.waiting.find(podKey(pod.Namespace, pod.Name))
	if !waits {
		return false
	}
	_, known := s.place(waiting)
	return known
}

// Planned are the pods that still wait and for which the latest plan counts on a
// machine, by the name of its Node or claim; in no order.
func (s *Store) Planned(machine string) []*snapshot.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*snapshot.Pod
	for _, name := range s.planned[machine] {
		if pod, waits := s.waiting.find(podKey(name.Namespace, name.Name)); waits {
			out = append(out, pod)
		}
	}
	return out
}

// nominations are those of pods that are still pending: what the latest plan
// says, and for pods that it does not know, as after a restart, what is written
// on the pods themselves; and those of the copies of pods that are expected.
func (s *Store) nominations(pending []*snapshot.Pod, expected []snapshot.Expected) map[types.NamespacedName]string {
	out := make(map[types.NamespacedName]string, len(pending))
	for _, pod := range pending {
		name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		machine, known := s.place(pod)
		if !known {
			machine = cmp.Or(pod.Status.NominatedNodeName, s.admittedTo(pod))
		}
		if known || machine != "" {
			out[name] = machine
		}
	}
	for _, e := range expected {
		machines := s.expected[metav1.GetControllerOfNoCopy(e.Like).UID]
		for i := range min(e.Count, len(machines)) {
			out[types.NamespacedName{Namespace: e.Like.Namespace, Name: snapshot.CopyName(e.Like, i)}] = machines[i]
		}
	}
	return out
}

// admittedTo is the claim whose Node takes a pod first, the last that it was admitted to;
// empty if there is none.
func (s *Store) admittedTo(pod *snapshot.Pod) string {
	for _, t := range slices.Backward(pod.Spec.Tolerations) {
		if t.Key != snapshot.PlannedTaint {
			continue
		}
		for name, c := range s.claims.byKey {
			if string(c.value.UID) == t.Value {
				return name
			}
		}
	}
	return ""
}
