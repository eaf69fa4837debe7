package lifecycle

import "github.com/millwright-dev/millwright/engine/snapshot"

// Checklist is the step of the state machine; a claim that waits for the cloud is
// not asked what it would launch.
func Checklist(v View) Step {
	if !v.Claim.Is(snapshot.Launched) && v.Claim.Deleted.IsZero() {
		r := Unlaunched(v.Claim)
		return Step{Gates: []Gate{{
			Name: GateLaunched, Since: r.Since, Reason: r,
			Next: Next{Actor: Cloud, Then: GiveUp, At: r.Since.Add(v.Policy.Defaulted().LaunchTimeout)},
		}}}
	}
	return Decide(v)
}
