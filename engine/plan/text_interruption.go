package plan

import (
	"fmt"
	"strings"
	"time"
)

// interruptionWords are those of codes_interruption.go.
var interruptionWords = words{
	Interrupted:         func(r Reason) string { return due(fmt.Sprintf("%s because of %s", r.Want, r.Have), r.Until) },
	DeadlineComes:       say("no window is left before the deadline, so it happens at the last safe moment"),
	NoWindowInTime:      say("no window is left before the deadline, and whenTooLate leaves the machine alone"),
	BeforeLeadTime:      ends(say("the policy acts %s before the event: waits", want)),
	OutsideWindow:       ends(caused(say("waits for the window %s", want))),
	InterruptionOver:    say("the event is %s", have),
	InterruptionIgnored: say("the policy ignores %s", want),
	InterruptionNoted:   say("%s is only reported", want),
	Unconfirmed:         caused(say("the cloud's API has not confirmed the event")),
	AwaitsApproval:      ends(say("waits for an answer to DisruptionRequest %s", name)),
	RateLimited: func(r Reason) string {
		return until(fmt.Sprintf("the policy limits how many machines of a %s go: %s", strings.ToLower(r.Have), r.Want), r.Until)
	},
	Restarting:      caused(say("the machine is being restarted")),
	Restarted:       say("the machine has been restarted since"),
	RestartFailed:   caused(say("the restart is given up, and the machine goes")),
	ApprovalDenied:  say("DisruptionRequest %s is denied", name),
	ApprovalExpired: say("DisruptionRequest %s was not answered in time", name),
}

// due adds when the cloud acts.
func due(text string, deadline time.Time) string {
	if deadline.IsZero() {
		return text
	}
	return text + ", which the cloud has announced for " + at(deadline)
}
