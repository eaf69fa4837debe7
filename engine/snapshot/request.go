package snapshot

import "time"

// Request asks people for leave to do something to a machine; a DisruptionRequest.
type Request struct {
	Name string
	// Claim, Event and Action are what it is about: the machine's claim, the cloud's
	// name of the event, and what would be done.
	Claim, Event string
	Action       InterruptionAction
	// Decision is the answer, empty if there is none.
	Decision Decision
	// Phase is how it stands, since when, as was written last; empty for one that
	// no controller has looked at yet.
	Phase RequestPhase
	Since time.Time
	// Told is the phase that people were told of last.
	Told RequestPhase
}

// Decision is the answer to a request.
type Decision string

// The answers.
const (
	Approve Decision = "Approve"
	Deny    Decision = "Deny"
)

// RequestPhase is how a request stands.
type RequestPhase string

// The phases, in the words of the DisruptionRequest.
const (
	RequestProposed  RequestPhase = "Proposed"
	RequestApproved  RequestPhase = "Approved"
	RequestDenied    RequestPhase = "Denied"
	RequestExpired   RequestPhase = "Expired"
	RequestWithdrawn RequestPhase = "Withdrawn"
	RequestDone      RequestPhase = "Done"
)
