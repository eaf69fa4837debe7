package plan

// What is done about a machine that the cloud announces something about: the
// verdicts of package interruption. Of most, Want is the kind of the event.
const (
	// Interrupted: the action Want is due because of the event Have; Until is when
	// the cloud acts at the latest.
	Interrupted Code = "Interrupted"
	// DeadlineComes: no window opens any more until the deadline, so that the action is due, or
	// will be at Until.
	DeadlineComes Code = "DeadlineComes"
	// NoWindowInTime: no window opens any more until the deadline, and the policy rather leaves
	// the machine alone.
	NoWindowInTime Code = "NoWindowInTime"
	// BeforeLeadTime: the action may begin Want before the event, at Until.
	BeforeLeadTime Code = "BeforeLeadTime"
	// OutsideWindow: the window Want opens at Until; Have says why it cannot be read.
	OutsideWindow Code = "OutsideWindow"
	// InterruptionOver: the event is Have, cancelled or completed.
	InterruptionOver Code = "InterruptionOver"
	// InterruptionIgnored: nothing is done about such an event.
	InterruptionIgnored Code = "InterruptionIgnored"
	// InterruptionNoted: such an event is told of, and nothing else is done.
	InterruptionNoted Code = "InterruptionNoted"
	// Unconfirmed: the event rests on a message of Have alone, and the policy waits
	// until the cloud's API says the same.
	Unconfirmed Code = "Unconfirmed"
	// AwaitsApproval: no approver has answered the DisruptionRequest, the first object; Until
	// is when it goes ahead without, or ends.
	AwaitsApproval Code = "AwaitsApproval"
	// ApprovalDenied: an approver has denied the DisruptionRequest, the first object.
	ApprovalDenied Code = "ApprovalDenied"
	// ApprovalExpired: no approver has answered the DisruptionRequest, the first object, until
	// the cloud acted.
	ApprovalExpired Code = "ApprovalExpired"
	// RateLimited: as many machines as the policy allows have just gone; Want is the
	// limit, Have what shares it, Until when the next may.
	RateLimited Code = "RateLimited"
	// Restarting: the machine is stopped and started again; Have is what it is at.
	Restarting Code = "Restarting"
	// Restarted: the machine was stopped and started again because of the event.
	Restarted Code = "Restarted"
	// RestartFailed: the machine did not come back from its restart, because of Have.
	RestartFailed Code = "RestartFailed"
)
