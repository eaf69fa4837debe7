package plan

// What is done about a machine that is broken: the verdicts of package repair.
// Have of the first six is what is wrong, Since when it began.
const (
	// RepairDue: the action Want is due; Until is when a replacement is waited for no
	// longer.
	RepairDue Code = "RepairDue"
	// Rebooting: the machine is being rebooted.
	Rebooting Code = "Rebooting"
	// FindingTolerated: the action Want is due at Until.
	FindingTolerated Code = "FindingTolerated"
	// FindingNoted: it is told of, and nothing else is done.
	FindingNoted Code = "FindingNoted"
	// FindingIgnored: the policy does not care.
	FindingIgnored Code = "FindingIgnored"
	// DoNotRepair: an annotation keeps the machine from being repaired.
	DoNotRepair Code = "DoNotRepair"
	// RepairBlocked: Have are the nodes of the pool, the first object, that are
	// unhealthy, more than Want.
	RepairBlocked Code = "RepairBlocked"
	// CorrelatedFailure: Have are the nodes of Want, a zone, an image or a condition,
	// that are unhealthy: too many for the machines to be to blame.
	CorrelatedFailure Code = "CorrelatedFailure"
	// RepairBudget: Have machines of the pool, the first object, are under repair, and
	// Want may be.
	RepairBudget Code = "RepairBudget"
	// TooFewHealthy: Have machines of the pool, the first object, are healthy, and Want
	// must be.
	TooFewHealthy Code = "TooFewHealthy"
)
