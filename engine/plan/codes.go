package plan

// Why a pod is not placed: the verdicts of package placement. The first object is
// the one that stands in the way, usually a NodePool; a reason about instance
// types says how many of the pool's it removed, as the last in a row of
// constraints.
const (
	// NoPools: there is no NodePool in the cluster.
	NoPools Code = "NoPools"
	// PoolNotReady: the pool cannot launch; Have is why.
	PoolNotReady Code = "PoolNotReady"
	// PoolStatic: the pool has a fixed number of nodes and does not follow pods.
	PoolStatic Code = "PoolStatic"
	// NoInstanceTypes: the pool's requirements leave none of the cloud's types;
	// Want is the requirement that removed the last, Have what the types offer.
	NoInstanceTypes Code = "NoInstanceTypes"
	// ExcludedByPool: the pool's own requirement Want leaves out what would do. It
	// comes with other constraints, never alone.
	ExcludedByPool Code = "ExcludedByPool"
	// TaintNotTolerated: the pool's nodes carry the taint Have.
	TaintNotTolerated Code = "TaintNotTolerated"
	// RequirementNotMet: no type that is left satisfies the pod's Want; Have is what
	// they offer for that label.
	RequirementNotMet Code = "RequirementNotMet"
	// InsufficientResources: the pod requests Want; Have is the most that a type
	// that is left can give.
	InsufficientResources Code = "InsufficientResources"
	// VolumeLimitExceeded: the pod mounts more volumes of one driver, Want, than a
	// type attaches; Have is the most.
	VolumeLimitExceeded Code = "VolumeLimitExceeded"
	// HostPortTaken: a DaemonSet, the second object, takes the port Want on every
	// node of the pool that would do.
	HostPortTaken Code = "HostPortTaken"
	// OfferingUnavailable: the cloud does not sell at present any of the types that
	// would do; Have names zones and capacity types, Want what else than the cloud's capacity
	// is short, if anything is.
	OfferingUnavailable Code = "OfferingUnavailable"
	// LimitExceeded: another node would exceed the pool's limit Want; Have is what
	// is in use, with this plan's nodes.
	LimitExceeded Code = "LimitExceeded"
	// MinValuesNotMet: the pool demands Want different values of a label; the types
	// that could take the pod have Have.
	MinValuesNotMet Code = "MinValuesNotMet"
	// ConstraintsInvalid: the pod's constraints cannot be understood; Have says
	// why.
	ConstraintsInvalid Code = "ConstraintsInvalid"
	// ConstraintUnsupported: the pod relies on Want, which placement does not
	// cover, through the first object, if there is one; Have says why not.
	ConstraintUnsupported Code = "ConstraintUnsupported"
	// VolumeClaimMissing: the pod mounts a claim, the first object, that does not
	// exist.
	VolumeClaimMissing Code = "VolumeClaimMissing"
	// VolumeClaimUnusable: the claim cannot be used by a new pod; Have says why.
	VolumeClaimUnusable Code = "VolumeClaimUnusable"
	// StorageClassMissing: the claim names a storage class, the second object, that
	// does not exist.
	StorageClassMissing Code = "StorageClassMissing"
	// TopologyNotSatisfiable: no domain is left that the rule Want accepts; Have
	// says how it stands.
	TopologyNotSatisfiable Code = "TopologyNotSatisfiable"
)

// Why pods that are placed are not where they would rather be.
const (
	// PreferenceTooDear: to keep the preference Want would raise the price of the
	// pods by more than Have.
	PreferenceTooDear Code = "PreferenceTooDear"
	// PreferenceNotMet: where the preference Want would be kept there is no room, or
	// only at a price, while there is room for nothing elsewhere.
	PreferenceNotMet Code = "PreferenceNotMet"
)

// Why a pending pod is none of placement's business.
const (
	// PodEnded: the pod has ended or is on its way out.
	PodEnded Code = "PodEnded"
	// PodOfDaemonSet: the pod belongs to a node that exists.
	PodOfDaemonSet Code = "PodOfDaemonSet"
	// PodOfNode: the pod is a kubelet's own.
	PodOfNode Code = "PodOfNode"
	// SchedulingGated: the gate Have keeps the pod from being scheduled.
	SchedulingGated Code = "SchedulingGated"
	// JobSuspended: the pod would be one of the first object, a Job that is suspended.
	JobSuspended Code = "JobSuspended"
	// Preempting: the scheduler makes room for the pod on the node Have.
	Preempting Code = "Preempting"
	// OptedOut: the pod accepts only nodes that belong to no pool.
	OptedOut Code = "OptedOut"
	// AwaitingScheduler: the scheduler, which Have names, has not found yet that the pod does not fit.
	AwaitingScheduler Code = "AwaitingScheduler"
	// SchedulerDisagrees: the scheduler does not put the pod where there is room for it
	// as far as is known here, on the first object if that is a Node. Have is what it
	// says; Until is when the pod is planned again.
	SchedulerDisagrees Code = "SchedulerDisagrees"
)

// Why a pod on a node has not got what it asks for. The objects are the pod and the node; Have is
// what the kubelet says.
const (
	// ResizeDeferred: the kubelet resizes the pod once others have left.
	ResizeDeferred Code = "ResizeDeferred"
	// ResizeInfeasible: the kubelet will never resize the pod.
	ResizeInfeasible Code = "ResizeInfeasible"
)
