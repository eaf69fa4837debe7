package cluster

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"
)

// Nominate records which machine, by the name of its Node or claim, the latest
// plan counts on for each pending pod. It replaces what an earlier plan said. A
// nomination is never older than its plan, and a snapshot shows only those of
// pods that are still pending, so none has to be taken back.
func (s *Store) Nominate(machines map[types.NamespacedName]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nominated = maps.Clone(machines)
}

// nominations are those of pods that are still pending.
func (s *Store) nominations() map[types.NamespacedName]string {
	out := make(map[types.NamespacedName]string, len(s.nominated))
	for pod, machine := range s.nominated {
		if _, pending := s.pending.byKey[pod.Namespace+"\x00"+pod.Name]; pending {
			out[pod] = machine
		}
	}
	return out
}
