package snapshot

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// How long before an interruption's deadline its handling must begin, if no policy
// says otherwise: DefaultSpotReserve for spot machines, which are told two minutes
// ahead.
const (
	DefaultReserve     = 30 * time.Minute
	DefaultSpotReserve = time.Minute
)

// Interruption says what is done about what the cloud announces. The zero value
// is Karpenter's table.
type Interruption struct {
	// Rules are asked in order; the first that matches decides. Where none does, the
	// table holds.
	Rules []InterruptionRule
	// Rates bound how fast machines are taken away; all of them hold.
	Rates []Rate
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
	// InterruptionRestart: the same machine is stopped and started again.
	InterruptionRestart InterruptionAction = "Restart"
	// InterruptionReplace: another machine is launched first, then it is drained.
	InterruptionReplace InterruptionAction = "Replace"
	// InterruptionDrain: the claim is deleted, so that the machine is drained and ended.
	InterruptionDrain InterruptionAction = "Drain"
	// InterruptionTerminate: as Drain, with a deadline that is now.
	InterruptionTerminate InterruptionAction = "Terminate"
)

// AnyEvent stands for every kind of event in a rule.
const AnyEvent = "*"

// InterruptionRule is one rule. The zero value of a field is its default.
type InterruptionRule struct {
	// Events are the kinds that the rule is for; never empty. [AnyEvent] is all.
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
	// Windows are when it may begin; none is always.
	Windows []Window
	// LeaveIfTooLate leaves the machine alone when no window opens in time, instead of
	// beginning at the last moment.
	LeaveIfTooLate bool
	// ForceAtDeadline ends the drain at the event's deadline, whatever holds pods back.
	ForceAtDeadline bool
	// RespectDoNotDisrupt waits for pods with the annotation karpenter.sh/do-not-disrupt
	// until the last moment.
	RespectDoNotDisrupt bool
	// EvictDoNotDisrupt has the drain evict such pods as any other, IgnoreBudgets delete
	// pods that PodDisruptionBudgets hold back. IgnoreGracePeriod has it not end when the
	// claim's terminationGracePeriod does.
	EvictDoNotDisrupt, IgnoreBudgets, IgnoreGracePeriod bool
	// RespectPoolBudgets waits until the NodePool's disruption budgets allow another
	// machine to go, until the last moment.
	RespectPoolBudgets bool
	// KeepPods leaves the pods on a machine that restarts; RestartTimeout is how long it may
	// take to stop, and again to be back, zero for the default.
	KeepPods       bool
	RestartTimeout time.Duration
	// OnlyConfirmed waits until the cloud's own API has confirmed the event.
	OnlyConfirmed bool
	// Waiting selects the pods that lead time, window and approval are kept for: the
	// others leave at once, and so does a machine without any. Nil is all.
	Waiting labels.Selector
	// Approval says whether people are asked before.
	Approval Approval
}

// Approval says whether people are asked.
type Approval string

// Whether people are asked; empty is not.
const (
	// ApprovalRequired: nothing happens without an approval.
	ApprovalRequired Approval = "Required"
	// ApprovalUntilDeadline: without an answer it happens at the last moment.
	ApprovalUntilDeadline Approval = "UntilDeadline"
)

// Latest is how long before the deadline of a kind of event the action begins at
// the latest.
func (r *InterruptionRule) Latest(kind string) time.Duration {
	if kind == "SpotInterruption" {
		return cmp.Or(r.Reserve, DefaultSpotReserve)
	}
	return cmp.Or(r.Reserve, DefaultReserve)
}
