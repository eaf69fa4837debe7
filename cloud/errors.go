package cloud

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// ErrNotFound is returned for a machine that is gone for good.
var ErrNotFound = errors.New("instance not found")

// InsufficientCapacityError says which offerings the cloud could not deliver.
type InsufficientCapacityError struct {
	// Offerings are to be left out for a while. Those that the provider's own catalogue leaves
	// out need not be among them.
	Offerings []catalog.Key
	// Cause is what else than the cloud's capacity is short: a quota of the account, the
	// addresses of a subnet. Empty if nothing is.
	Cause string
}

func (e *InsufficientCapacityError) Error() string {
	const shown = 3
	names := make([]string, 0, shown)
	for _, k := range e.Offerings[:min(shown, len(e.Offerings))] {
		names = append(names, fmt.Sprintf("%s/%s/%s", k.Type, k.Zone, k.CapacityType))
	}
	if more := len(e.Offerings) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	text := "insufficient capacity"
	if len(names) > 0 {
		text += " for " + strings.Join(names, ", ")
	}
	if e.Cause != "" {
		text += "; " + e.Cause
	}
	return text
}

// ClassNotReadyError says that a node class cannot be launched from.
type ClassNotReadyError struct {
	Class  string // kind/name
	Reason string
	// Pending says that the provider is working it out, as after an edit of the class or its own
	// start: nothing has to be mended, and a launch waits.
	Pending bool
}

func (e *ClassNotReadyError) Error() string {
	return fmt.Sprintf("node class %s is not ready: %s", e.Class, e.Reason)
}

// ThrottledError says that the cloud wants to be asked less often.
type ThrottledError struct {
	// RetryAfter is how long the cloud asks to wait, zero if it does not say.
	RetryAfter time.Duration
	Err        error
}

func (e *ThrottledError) Error() string { return fmt.Sprintf("throttled: %v", e.Err) }
func (e *ThrottledError) Unwrap() error { return e.Err }
func (*ThrottledError) reason() string  { return Throttled }

// UnauthorizedError says that the credentials do not allow a call.
type UnauthorizedError struct {
	// Action is the cloud's name of the call, such as ec2:CreateFleet.
	Action string
	Err    error
}

func (e *UnauthorizedError) Error() string {
	return fmt.Sprintf("not allowed to %s: %v", e.Action, e.Err)
}
func (e *UnauthorizedError) Unwrap() error { return e.Err }
func (*UnauthorizedError) reason() string  { return "Unauthorized" }

// RefusedError says that the cloud refuses a launch for what the node class asks, whichever
// offering is taken: an image that is not there, user data that are too large. It is tried
// again, because people can mend it; until then the claim says why.
type RefusedError struct {
	// Reason is Karpenter's word for a condition, such as AMINotFound.
	Reason string
	Err    error
}

func (e *RefusedError) Error() string  { return fmt.Sprintf("refused: %v", e.Err) }
func (e *RefusedError) Unwrap() error  { return e.Err }
func (e *RefusedError) reason() string { return e.Reason }

// CallError says that a call failed in none of the other ways.
type CallError struct {
	// Action is the cloud's name of the call, Reason Karpenter's word for what happened.
	Action, Reason string
	Err            error
}

func (e *CallError) Error() string  { return fmt.Sprintf("%s: %v", e.Action, e.Err) }
func (e *CallError) Unwrap() error  { return e.Err }
func (e *CallError) reason() string { return e.Reason }

// Reasons of launches that failed, beside those of the errors above.
const (
	// LaunchFailed is that of none in particular.
	LaunchFailed = "LaunchFailed"
	// SoldOut is EC2's word for an offering that it has no more of.
	SoldOut = "InsufficientInstanceCapacity"
	// Throttled is that of a ThrottledError.
	Throttled = snapshot.RequestLimitExceeded
)

// Reason is Karpenter's word, in conditions and metrics, for why a launch failed.
func Reason(err error) string {
	var known interface {
		error
		reason() string
	}
	if errors.As(err, &known) {
		return cmp.Or(known.reason(), LaunchFailed)
	}
	return LaunchFailed
}

// LaunchFailure is what kept a launch from an offering.
type LaunchFailure struct {
	// Zone and ZoneID are empty if the cloud names no offering, but refuses all that it was
	// asked for at once.
	Zone, ZoneID string
	CapacityType string
	// Reason is such as [Reason] has.
	Reason string
}

// TerminationError says that the cloud did not do as it was told with a machine that it has.
type TerminationError struct {
	// Zone and ZoneID are the machine's, as far as they are known.
	Zone, ZoneID string
	Err          error
}

func (e *TerminationError) Error() string { return e.Err.Error() }
func (e *TerminationError) Unwrap() error { return e.Err }
