package cluster

import (
	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// request translates a DisruptionRequest.
func request(in *v1alpha1.DisruptionRequest) *snapshot.Request {
	return &snapshot.Request{
		Name: in.Name, Claim: in.Spec.NodeClaim, Event: in.Spec.Event, Action: snapshot.InterruptionAction(in.Spec.Action),
		Decision: snapshot.Decision(in.Spec.Decision), Phase: snapshot.RequestPhase(in.Status.Phase), Since: in.Status.Since.Time,
		Told: snapshot.RequestPhase(in.Status.Told),
	}
}

// Request returns the latest state of a DisruptionRequest that the process has seen
// or written; the result must not be changed.
func (s *Store) Request(name string) (*v1alpha1.DisruptionRequest, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.objects[id{"DisruptionRequest", name}].(*v1alpha1.DisruptionRequest)
	return r, ok
}
