package plan

import (
	"fmt"
	"strings"
	"time"
)

// interruptionText words the reasons of codes_interruption.go; empty for others.
func interruptionText(r Reason) string {
	switch r.Code {
	case Interrupted:
		return due(fmt.Sprintf("%s because of %s", r.Want, r.Have), r.Until)
	case DeadlineComes:
		return "no window opens before the deadline, so it happens at the last safe moment"
	case NoWindowInTime:
		return "no window opens before the deadline, and whenTooLate leaves the machine alone"
	case BeforeLeadTime:
		return until(fmt.Sprintf("the policy acts %s before the event: waits", r.Want), r.Until)
	case OutsideWindow:
		return until(withCause("waits for the window "+r.Want, r.Have), r.Until)
	case InterruptionOver:
		return fmt.Sprintf("the event is %s", r.Have)
	case InterruptionIgnored:
		return fmt.Sprintf("the policy ignores %s", r.Want)
	case InterruptionNoted:
		return fmt.Sprintf("%s is only reported", r.Want)
	case Unconfirmed:
		return withCause("the cloud's API has not confirmed the event", r.Have)
	case AwaitsApproval:
		return until("waits for an answer to DisruptionRequest "+r.Objects[0].Name, r.Until)
	case RateLimited:
		return until(fmt.Sprintf("the policy limits how many machines of a %s go: %s", strings.ToLower(r.Have), r.Want), r.Until)
	case Restarting:
		return withCause("the machine is being restarted", r.Have)
	case Restarted:
		return "the machine has been restarted since"
	case RestartFailed:
		return withCause("the restart is given up, and the machine goes", r.Have)
	case ApprovalDenied:
		return fmt.Sprintf("DisruptionRequest %s is denied", r.Objects[0].Name)
	case ApprovalExpired:
		return fmt.Sprintf("DisruptionRequest %s was not answered in time", r.Objects[0].Name)
	}
	return ""
}

// due adds when the cloud acts.
func due(text string, deadline time.Time) string {
	if deadline.IsZero() {
		return text
	}
	return text + ", which the cloud has announced for " + at(deadline)
}
