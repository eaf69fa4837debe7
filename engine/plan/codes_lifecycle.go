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
