package cluster

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Nominate records which machine, by the name of its Node or claim, the latest
// plan counts on for each pending pod; a pod for which it has none is there with
// an empty name. It replaces what an earlier plan said. A nomination is never
// older than its plan, and a snapshot shows only those of pods that are still
// pending, so none has to be taken back.
func (s *Store) Nominate(machines map[types.NamespacedName]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nominated = maps.Clone(machines)
	s.planned = map[string][]types.NamespacedName{}
	for pod, machine := range machines {
		s.planned[machine] = append(s.planned[machine], pod)
	}
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
	_, known := s.nominated[pod]
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
// on the pods themselves.
func (s *Store) nominations() map[types.NamespacedName]string {
	pending := s.waiting.list()
	out := make(map[types.NamespacedName]string, len(pending))
	for _, pod := range pending {
		name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		machine, known := s.nominated[name]
		if !known {
			machine = cmp.Or(pod.Status.NominatedNodeName, s.admittedTo(pod))
		}
		if known || machine != "" {
			out[name] = machine
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
