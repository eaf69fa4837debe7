package lifecycle

import "github.com/millwright-dev/millwright/engine/snapshot"

// Checklist is the step of the state machine; a claim that waits for the cloud is
// not asked what it would launch.
func Checklist(v View) Step {
	if !v.Claim.Is(snapshot.Launched) && v.Claim.Deleted.IsZero() {
		v.Policy = v.Policy.Defaulted()
		return Step{Gates: []Gate{launching(v)}}
	}
	return Decide(v)
}
