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
	ConsolidationCandidate         = "ConsolidationCandidate"
	ConsolidationApproved          = "ConsolidationApproved"
	ConsolidationRejected          = "ConsolidationRejected"
	Unconsolidatable               = "Unconsolidatable"
	Disrupted                      = "Disrupted"
	Evicted                        = "Evicted"
	FailedDraining                 = "FailedDraining"
	TerminationGracePeriodExpiring = "TerminationGracePeriodExpiring"
	AwaitingVolumeDetachment       = "AwaitingVolumeDetachment"
	InsufficientCapacity           = "InsufficientCapacityError"
	NodeClassNotReady              = "NodeClassNotReady"
	WaitingOnNodeClaimTermination  = "WaitingOnNodeClaimTermination"
	UnregisteredTaintMissing       = "UnregisteredTaintMissing"
	NodeRepairBlocked              = "NodeRepairBlocked"

	SpotInterrupted                        = "SpotInterrupted"
	SpotRebalanceRecommendation            = "SpotRebalanceRecommendation"
	CapacityReservationInstanceInterrupted = "CapacityReservationInstanceInterrupted"
	InstanceStopping                       = "InstanceStopping"
	InstanceTerminating                    = "InstanceTerminating"
	InstanceUnhealthy                      = "InstanceUnhealthy"
	TerminatingOnInterruption              = "TerminatingOnInterruption"
)

// Event reasons of our own.
const (
	// SchedulerDisagrees: kube-scheduler does not put a pod where there is room for it.
	SchedulerDisagrees = "SchedulerDisagrees"
	// RebootFailed: a machine was to be rebooted, for its repair, and is not back; RebootObserved: it
	// has booted. Karpenter's words.
	RebootFailed   = "RebootFailed"
	RebootObserved = "RebootObserved"
	// RestartFailed: the cloud does not stop or start a machine that is being restarted.
	RestartFailed = "RestartFailed"
	// WouldDisrupt: an observer would begin to take a machine away.
	WouldDisrupt = "WouldDisrupt"
	// MissingToleration: a DaemonSet runs an agent that nodes need until their end
	// and that others would evict.
	MissingToleration = "MissingToleration"
	// AttachmentFault: a VolumeAttachment is left over, or does not become what it
	// should.
	AttachmentFault = "AttachmentFault"
	// VolumesLeftBehind: a machine was ended with volumes attached to it.
	VolumesLeftBehind = "VolumesLeftBehind"
	// TerminationRefused: the cloud does not terminate the instance of a machine that goes.
	TerminationRefused = "TerminationRefused"
	// AwaitingHooks: a machine that goes waits for hooks of its policy.
	AwaitingHooks = "AwaitingHooks"
	// NodeUnhealthy: something is wrong with a machine; the message says what becomes of
	// that.
	NodeUnhealthy = "NodeUnhealthy"
	// ValidationFailed: the API server has admitted an object of which a part means
	// nothing.
	ValidationFailed = "ValidationFailed"
	// StaleTaintRemoved: the taint of a cloud controller that had forgotten it is off a Node.
	StaleTaintRemoved = "StaleTaintRemoved"
	// WriteRefused: the API server does not let the object be changed.
	WriteRefused = "WriteRefused"
	// ReplicasMissing: machines of a static pool cannot be launched.
	ReplicasMissing = "ReplicasMissing"
	// LaunchLimited: a machine is another than was asked for first, for what the account lacks.
	LaunchLimited = "LaunchLimited"
	// GivenUp: a machine did not get ready in time, or ended before, and is replaced.
	GivenUp = "GivenUp"
)
