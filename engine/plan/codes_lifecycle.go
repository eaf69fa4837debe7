package plan

// What a machine on its way waits for: the gates of package lifecycle. The names
// are the reasons of Karpenter's NodeClaim conditions where it has one.
const (
	// LaunchPending: the cloud has not been asked yet, or has not answered.
	LaunchPending Code = "LaunchPending"
	// LaunchFailed: the cloud refused; Have is its answer.
	LaunchFailed Code = "LaunchFailed"
	// NothingToLaunch: no instance type on offer satisfies the claim, or the cloud
	// has refused all that do.
	NothingToLaunch Code = "NothingToLaunch"
	// NodeNotFound: the machine has not joined the cluster.
	NodeNotFound Code = "NodeNotFound"
	// MultipleNodesFound: several Nodes, the objects, carry the machine's provider
	// ID.
	MultipleNodesFound Code = "MultipleNodesFound"
	// RegistrationPending: the Node, the first object, is there but has not been
	// taken over yet.
	RegistrationPending Code = "RegistrationPending"
	// NominationPending: the Node, the first object, is there, and waits for the other
	// objects: pods planned for it that are not nominated to it yet, and machines of
	// the same plan, which begin to take pods at the same time.
	NominationPending Code = "NominationPending"
	// NodeNotReady: the kubelet of the Node does not report Ready; Have is its
	// reason.
	NodeNotReady Code = "NodeNotReady"
	// StartupTaintsExist: a startup taint, Have, is still on the Node.
	StartupTaintsExist Code = "StartupTaintsExist"
	// KnownEphemeralTaintsExist: a taint that Kubernetes removes by itself, Have,
	// is still on the Node.
	KnownEphemeralTaintsExist Code = "KnownEphemeralTaintsExist"
	// ResourceNotRegistered: the claim asked for a resource, Want, of which the
	// Node has none.
	ResourceNotRegistered Code = "ResourceNotRegistered"
	// DRADriverPoolsNotPublished: a driver, Want, has not published all resource
	// slices of the Node.
	DRADriverPoolsNotPublished Code = "DRADriverPoolsNotPublished"
)

// Gates of our own.
const (
	// PlannedPodsFirst: the Node, the first object, takes only the pods that it was
	// launched for until they are bound. Have is how many still wait, the other objects
	// are the first of them.
	PlannedPodsFirst Code = "PlannedPodsFirst"
	// StaleUninitializedTaint: the cloud controller's taint, Have, is still on the
	// Node although the controller's work there is done.
	StaleUninitializedTaint Code = "StaleUninitializedTaint"
	// UndeclaredStartupTaint: the taint Have is still on the Node; new Nodes of the
	// pool Want lose it after a while, and the pool does not declare it.
	UndeclaredStartupTaint Code = "UndeclaredStartupTaint"
	// UndeclaredStartupTaints: nodes of the pool, the object, lose taints at their
	// start that it does not declare; Want are the lines to add.
	UndeclaredStartupTaints Code = "UndeclaredStartupTaints"
	// CSIDriverNotRegistered: the driver Want, which a pod of the Node needs, is not
	// in the Node's CSINode, or has Have there.
	CSIDriverNotRegistered Code = "CSIDriverNotRegistered"
	// NodeConditionNotMet: the policy asks for the condition Want, the Node has Have.
	NodeConditionNotMet Code = "NodeConditionNotMet"
	// DaemonSetNotReady: the DaemonSet, the second object, has no Ready pod on the
	// Node; Have names the pod that is there.
	DaemonSetNotReady Code = "DaemonSetNotReady"
)

// What failed machines mean for the next ones.
const (
	// LaunchesPaused: Total machines in a row of the pool, the first object, failed
	// with Have, the last of them the second object; so nothing is launched from the
	// pool, or nothing of Want, an offering or an image, until the end. With a Field, the
	// Nodes did not get what that asks for, Want, and Have names the machines with their types;
	// so nothing is launched for pods that request it.
	LaunchesPaused Code = "LaunchesPaused"
	// LaunchesOnTrial: the same, and the pause is over: one machine at a time is
	// launched until one gets ready.
	LaunchesOnTrial Code = "LaunchesOnTrial"
	// LaunchesRefused: the API server refuses to create claims of the pool, the first
	// object, in the words Have; it is asked again at the end.
	LaunchesRefused Code = "LaunchesRefused"
	// MachinesUnused: the machines that the pool, the first object, launched for the
	// workload Want in Total rounds were not used by it; Have says what became of them.
	// Until is when the next one is launched for it; zero if one at a time is.
	MachinesUnused Code = "MachinesUnused"
)
