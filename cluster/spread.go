package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Wrap is a pod with its class, which is shared with the snapshots.
func (s *Store) Wrap(pod *corev1.Pod) *snapshot.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrap(pod)
}

func (s *Store) wrap(pod *corev1.Pod) *snapshot.Pod { return s.classes.Pod(pod, s.spreads.Of(pod)...) }

// respread has pods in the class that they are of now that an object has come, changed or gone.
func (s *Store) respread(obj client.Object, gone bool) {
	for _, pod := range s.spreads.Select(obj, gone) {
		if s.wrap(pod).Class != s.pods[key(pod)].Class {
			s.putPod(pod)
		}
	}
}

// ForSpread are the kinds that default topology spread constraints need. The rights are in
// deploy/rbac/default-spread.yaml.
func ForSpread() []client.Object {
	return []client.Object{&corev1.Service{}, &corev1.ReplicationController{}, &appsv1.StatefulSet{}}
}
