package cluster

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/backoff"
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

// Waiting reports whether there are pending pods, or buffers whose room pods may take at any time.
func (s *Store) Waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting.refused.byKey) > 0 || s.buffers.any()
}

// Place is the machine that the latest plan counts on for a pod, by the name of its Node or
// claim, empty for none, and whether the plan has decided about it.
func (s *Store) Place(pod types.NamespacedName) (machine string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if machine, known = s.nominated[pod]; known {
		return machine, true
	}
	if waiting, waits := s.waiting.find(podKey(pod.Namespace, pod.Name)); waits {
		return s.place(waiting)
	}
	return "", false
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
// on the pods themselves and on the claims; and those of the copies of pods that are
// expected.
func (s *Store) nominations(pending []*snapshot.Pod, expected []snapshot.Expected) map[types.NamespacedName]string {
	out := make(map[types.NamespacedName]string, len(pending))
	meant := s.meant()
	for _, pod := range pending {
		name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		machine, known := s.place(pod)
		if !known {
			machine = cmp.Or(pod.Status.NominatedNodeName, s.admittedTo(pod))
			meant.strike(pod, machine)
		}
		if known || machine != "" {
			out[name] = machine
		}
	}
	for _, pod := range pending {
		name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		if _, known := out[name]; !known {
			if machine := meant.take(pod); machine != "" {
				out[name] = machine
			}
		}
	}
	for _, e := range expected {
		machines := s.expected[metav1.GetControllerOfNoCopy(e.Like).UID]
		for i := range e.Count {
			machine := ""
			if i < len(machines) {
				machine = machines[i]
			} else if machine = meant.take(e.Like); machine == "" {
				break
			}
			out[types.NamespacedName{Namespace: e.Like.Namespace, Name: snapshot.CopyName(e.Like, i)}] = machine
		}
	}
	return out
}

// meant are machines that are not ready yet, as often as pods of a workload are to come to
// them, by workload.
type meant map[string][]machineNames

// machineNames are those by which a pod may name a machine.
type machineNames struct{ claim, node string }

// meant is what the claims say of the plan by which they were launched: it stands in for that
// plan as long as this process has made none.
func (s *Store) meant() meant {
	if s.nominated != nil {
		return nil
	}
	out := meant{}
	for _, c := range s.claims.list() {
		if !c.value.Deleted.IsZero() || c.value.Is(snapshot.Initialized) {
			continue
		}
		pods := backoff.PodsOf(c.value)
		if on := s.podsOf[c.value.NodeName]; on != nil {
			for _, pod := range on.list() {
				pods[backoff.Workload(pod)]--
			}
		}
		for workload, n := range pods {
			names := machineNames{c.value.Name, c.value.NodeName}
			out[workload] = append(out[workload], slices.Repeat([]machineNames{names}, max(0, n))...)
		}
	}
	return out
}

// strike takes a pod off those that are to come to a machine.
func (m meant) strike(pod *snapshot.Pod, machine string) {
	if len(m) == 0 || machine == "" {
		return
	}
	workload := backoff.Workload(pod)
	if i := slices.IndexFunc(m[workload], func(n machineNames) bool { return n.claim == machine || n.node == machine }); i >= 0 {
		m[workload] = slices.Delete(m[workload], i, i+1)
	}
}

// take is the claim that a pod is to come to, empty if none is known.
func (m meant) take(pod *snapshot.Pod) string {
	if len(m) == 0 {
		return ""
	}
	workload := backoff.Workload(pod)
	left := m[workload]
	if len(left) == 0 {
		return ""
	}
	m[workload] = left[1:]
	return left[0].claim
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
