package snapshot

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/requirement"
)

// Claim is a NodeClaim as the engine sees it: a machine that was asked for.
type Claim struct {
	Name    string
	UID     types.UID
	Pool    string
	Created time.Time
	Class   ClassRef
	// Labels, Annotations and Taints are what its node shall carry.
	Labels, Annotations   map[string]string
	Taints, StartupTaints []corev1.Taint
	// Requirements and Requests are what the machine must satisfy.
	Requirements requirement.Set
	Requests     corev1.ResourceList
	// ProviderID and NodeName are empty until launch and registration.
	ProviderID, NodeName string
	// Image is what the machine was started from, empty if the cloud does not tell.
	Image string
	// Capacity and Allocatable are the cloud's estimate until the node is there.
	Capacity, Allocatable corev1.ResourceList
	// Conditions by type.
	Conditions map[string]Condition
	// LastPodEvent is when a pod was last bound to the node or ended on it.
	LastPodEvent time.Time
	// Deleted is when deletion was asked for, zero if it was not.
	Deleted                time.Time
	ExpireAfter            *time.Duration
	TerminationGracePeriod *time.Duration
}

// Condition is one of a claim's status conditions.
type Condition struct {
	Status          corev1.ConditionStatus
	Reason, Message string
	// Since is when the status last changed.
	Since time.Time
}

// DependenciesNotReady is the reason, in Karpenter's words, of a condition of a node class that is
// False only because others are: it says nothing that they do not say.
const DependenciesNotReady = "DependenciesNotReady"

// RequestLimitExceeded is the reason of a claim's condition Launched while the cloud refuses requests
// as too frequent: it has not looked at the one for its machine.
const RequestLimitExceeded = "RequestLimitExceeded"

// Condition types of a claim, in Karpenter's words.
const (
	Launched            = "Launched"
	Registered          = "Registered"
	Initialized         = "Initialized"
	Consolidatable      = "Consolidatable"
	Drifted             = "Drifted"
	DisruptionReason    = "DisruptionReason"
	Drained             = "Drained"
	VolumesDetached     = "VolumesDetached"
	InstanceTerminating = "InstanceTerminating"
	// Rebooting is True from when a machine is to be rebooted, for its repair, until that has
	// ended. From when the cloud was told, Initialized is Unknown.
	Rebooting = "Rebooting"
)

// Condition types of a claim that are ours.
const (
	// DrainHooksPassed and TerminationHooksPassed are True once the hooks before a drain, or
	// before a termination, are not waited for any more.
	DrainHooksPassed       = "DrainHooksPassed"
	TerminationHooksPassed = "TerminationHooksPassed"
	// Interrupted is True while the cloud has announced something about the machine that the
	// policy does not ignore. Its message says what will be done and when.
	Interrupted = "Interrupted"
)

// Is reports whether a condition is True.
func (c *Claim) Is(conditionType string) bool {
	return c.Conditions[conditionType].Status == corev1.ConditionTrue
}

// Node is one machine of the cluster: a claim whose node is not there yet, a
// Node that has no claim (a machine of others), or both joined by provider
// ID.
type Node struct {
	// Name is the Node's, or the claim's until there is one.
	Name string
	// Object is the Node, nil while the machine is on its way.
	Object *corev1.Node
	// Claim is nil for a machine that is not ours.
	Claim *Claim
	// Learned are taints that the nodes of its pool lose at their start, besides
	// those that the claim declares.
	Learned []corev1.Taint
	// Pods are those bound to the node, by namespace and name.
	Pods []*Pod
	// Devices is what can be requested of the node in devices of dynamic resource allocation;
	// nil before they are counted.
	Devices corev1.ResourceList
	// Ended are workloads, in the words of engine/backoff, of which a pod ran on the node
	// until it ended by itself, each with when the last one did. It is not changed.
	Ended map[string]time.Time
}

// HasEnded reports whether a pod of a workload ran on the node until it ended by itself.
func (n *Node) HasEnded(workload string) bool {
	_, has := n.Ended[workload]
	return has
}

// Own parts the Nodes with the claim's provider ID into its own and foreign ones.
// From initialization on the Node that the claim's status names is the only one of its own:
// a kubelet that joins with another machine's provider ID changes nothing for that machine,
// also when its Node is lost. Before, none can be told from the others.
func (c *Claim) Own(nodes []*corev1.Node) (own, foreign []*corev1.Node) {
	if c.NodeName == "" || !c.Is(Initialized) {
		return nodes, nil
	}
	for _, n := range nodes {
		if n.Name == c.NodeName {
			own = append(own, n)
		} else {
			foreign = append(foreign, n)
		}
	}
	return own, foreign
}
