package snapshot

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// DefaultReserve is how long before an interruption's deadline its handling must
// begin, if no policy says otherwise.
const DefaultReserve = 30 * time.Minute

// Interruption says what is done about what the cloud announces. The zero value
// is Karpenter's table.
type Interruption struct {
	// Rules are asked in order; the first that matches decides. Where none does, the
	// table holds.
	Rules []InterruptionRule
}

// InterruptionAction is what is done to a machine, in the words of the policy.
type InterruptionAction string

// The actions, from the mildest.
const (
	// InterruptionIgnore: nothing at all.
	InterruptionIgnore InterruptionAction = "Ignore"
	// InterruptionNotify: an Event, and nothing else.
	InterruptionNotify InterruptionAction = "Notify"
	// InterruptionCordon: no new pods.
	InterruptionCordon InterruptionAction = "Cordon"
	// InterruptionDrain: the claim is deleted, so that the machine is drained and ended.
	InterruptionDrain InterruptionAction = "Drain"
	// InterruptionTerminate: as Drain, with a deadline that is now.
	InterruptionTerminate InterruptionAction = "Terminate"
)

// InterruptionRule is one rule. The zero value of a field is its default.
type InterruptionRule struct {
	// Events are the kinds that the rule is for; never empty.
	Events []string
	// Codes narrow it to some codes of maintenance; empty is all.
	Codes []string
	// Pods narrows it to machines on which a pod with such labels runs; nil is all.
	Pods labels.Selector
	// Action is what is done.
	Action InterruptionAction
	// LeadTime is how long before the event's start it may begin at the earliest; nil
	// is as soon as the event is known.
	LeadTime *time.Duration
	// Reserve is how long before the deadline it begins at the latest.
	Reserve time.Duration
	// Window is when it may begin; nil is always.
	Window *WeeklyWindow
	// LeaveIfTooLate leaves the machine alone when no window opens in time, instead of
	// beginning at the last moment.
	LeaveIfTooLate bool
	// ForceAtDeadline ends the drain at the event's deadline, whatever holds pods back.
	ForceAtDeadline bool
	// RespectDoNotDisrupt waits for pods with the annotation karpenter.sh/do-not-disrupt
	// until the last moment.
	RespectDoNotDisrupt bool
	// OnlyConfirmed waits until the cloud's own API has confirmed the event.
	OnlyConfirmed bool
}

// Latest is how long before the deadline the action begins at the latest.
func (r *InterruptionRule) Latest() time.Duration { return cmp.Or(r.Reserve, DefaultReserve) }

// WeeklyWindow is a time of the week, by the wall clock of a place.
type WeeklyWindow struct {
	// TimeZone is the name of an IANA zone; empty is UTC.
	TimeZone string
	// Days are those on which the window opens; empty is every day.
	Days []time.Weekday
	// From and To are since midnight, each less than a day. A To that is not after
	// From is on the next day.
	From, To time.Duration
}
