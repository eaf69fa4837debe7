package cluster

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func (s *Store) putPod(pod *corev1.Pod) {
	k := key(pod)
	s.dropPod(k)
	if eviction.Terminal(pod) {
		return
	}
	wrapped := s.classes.Pod(pod)
	s.pods[k] = wrapped
	switch {
	case pod.Spec.NodeName != "":
		on := s.podsOf[pod.Spec.NodeName]
		if on == nil {
			on = newTable[*snapshot.Pod]()
			s.podsOf[pod.Spec.NodeName] = on
		}
		on.put(k, wrapped)
		s.machines.touch(pod.Spec.NodeName)
	case s.isPending(pod):
		s.pending.put(k, wrapped)
	}
}

func (s *Store) dropPod(k string) {
	old, ok := s.pods[k]
	if !ok {
		return
	}
	delete(s.pods, k)
	s.pending.drop(k)
	if on := s.podsOf[old.Spec.NodeName]; on != nil {
		on.drop(k)
		s.machines.touch(old.Spec.NodeName)
		if len(on.byKey) == 0 {
			delete(s.podsOf, old.Spec.NodeName)
		}
	}
}

// isPending reports whether a pod without a node waits for a machine.
func (s *Store) isPending(pod *corev1.Pod) bool {
	return mayWait(pod) && (s.options.Offline || unschedulable(pod))
}

// Pending reports whether a pod of a live cluster waits for a machine: the
// snapshot will have it among its pending pods.
func Pending(pod *corev1.Pod) bool { return mayWait(pod) && unschedulable(pod) }

// mayWait holds for nominated pods as well: whoever nominated a pod has only
// said where it is expected.
func mayWait(pod *corev1.Pod) bool {
	ended := eviction.Terminal(pod) || eviction.Terminating(pod)
	follows := eviction.Daemon(pod) || eviction.Mirror(pod)
	return !ended && !follows && pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) == 0
}

func unschedulable(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

// daemonSet makes the pod that a DaemonSet would run on a new node. Limits stand
// in for missing requests, as the API server does it for real pods.
func (s *Store) daemonSet(ds *appsv1.DaemonSet) *snapshot.DaemonSet {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ds.Namespace, Labels: ds.Spec.Template.Labels, Annotations: ds.Spec.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ds, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
		},
		Spec: *ds.Spec.Template.Spec.DeepCopy(),
	}
	defaultRequests(pod.Spec.InitContainers)
	defaultRequests(pod.Spec.Containers)
	return &snapshot.DaemonSet{DaemonSet: ds, Pod: s.classes.Pod(pod)}
}

func defaultRequests(containers []corev1.Container) {
	for i := range containers {
		r := &containers[i].Resources
		for name, limit := range r.Limits {
			if r.Requests == nil {
				r.Requests = corev1.ResourceList{}
			}
			if _, ok := r.Requests[name]; !ok {
				r.Requests[name] = limit
			}
		}
	}
}
