package apply

// Event reasons, in Karpenter's words; dashboards and alerts key on them.
const (
	FailedScheduling               = "FailedScheduling"
	Nominated                      = "Nominated"
	NoCompatibleInstanceTypes      = "NoCompatibleInstanceTypes"
	DisruptionBlocked              = "DisruptionBlocked"
	DisruptionLaunching            = "DisruptionLaunching"
	DisruptionWaitingReadiness     = "DisruptionWaitingReadiness"
	DisruptionTerminating          = "DisruptionTerminating"
	Unconsolidatable               = "Unconsolidatable"
	Disrupted                      = "Disrupted"
	Evicted                        = "Evicted"
	FailedDraining                 = "FailedDraining"
	TerminationGracePeriodExpiring = "TerminationGracePeriodExpiring"
	AwaitingVolumeDetachment       = "AwaitingVolumeDetachment"
	InsufficientCapacity           = "InsufficientCapacityError"
	NodeClassNotReady              = "NodeClassNotReady"
	UnregisteredTaintMissing       = "UnregisteredTaintMissing"
)
