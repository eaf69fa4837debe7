package snapshot

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/requirement"
)

// PoolLabel names the pool of a claim and of its node, in Karpenter's words.
const PoolLabel = "karpenter.sh/nodepool"

// Labels that say how far a node of ours has come, in Karpenter's words.
const (
	RegisteredLabel  = "karpenter.sh/registered"
	InitializedLabel = "karpenter.sh/initialized"
)

// Registered reports whether the Node itself says what the machine is. Until
// then its claim does. A machine that is not ours is always registered.
func (n *Node) Registered() bool { return n.reached(RegisteredLabel) }

// Initialized reports whether the Node is complete: its resources are all
// there and the taints of its start are gone. A machine that is not ours is
// always initialized.
func (n *Node) Initialized() bool { return n.reached(InitializedLabel) }

func (n *Node) reached(label string) bool {
	return n.Claim == nil || n.Object != nil && n.Object.Labels[label] == "true"
}

// Ready reports whether the kubelet of a Node says that it works.
func Ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// Deleting reports whether the machine is on its way out, by whatever request.
func (n *Node) Deleting() bool {
	if n.Object != nil && n.Object.DeletionTimestamp != nil {
		return true
	}
	return n.Claim != nil && (!n.Claim.Deleted.IsZero() || n.Claim.Is(InstanceTerminating))
}

// Pool is the name of the machine's pool, empty if it has none.
func (n *Node) Pool() string {
	if n.Claim == nil {
		return ""
	}
	return n.Claim.Pool
}

// Labels are those that the node has, or will have as far as its claim tells.
// The caller must not modify the map.
func (n *Node) Labels() map[string]string {
	if n.Registered() {
		return n.Object.Labels
	}
	return n.Claim.Labels
}

// Guaranteed is what is certain about the node's labels: exactly those that it
// has, and for a machine that is not launched yet what its claim demands.
func (n *Node) Guaranteed() requirement.Set {
	labels := requirement.FromLabels(n.Labels())
	if n.Registered() || n.Claim.ProviderID != "" {
		return labels
	}
	return n.Claim.Requirements.And(labels)
}

// Taints are those that a pod has to tolerate to stay on the node: without
// those that go away before it is initialized or soon after, and with the one of a cordon.
func (n *Node) Taints() []corev1.Taint {
	if n.Object == nil {
		return n.Claim.Taints
	}
	taints := n.Object.Spec.Taints
	switch {
	case !n.Registered():
		taints = n.Claim.Taints
	case !n.Initialized():
		taints = slices.DeleteFunc(slices.Clone(taints), n.Passing)
	default:
		taints = slices.DeleteFunc(slices.Clone(taints), n.temporary)
	}
	if n.Object.Spec.Unschedulable && !slices.ContainsFunc(taints, cordon) {
		taints = append(slices.Clip(taints), corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	return taints
}

func cordon(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable }

// temporary reports whether a taint of an initialized node goes by itself: that of a reboot, and
// not-ready or unreachable while the kubelet is ready. The node lifecycle controller adds these by
// its cache, which on a busy control plane is seconds old.
func (n *Node) temporary(t corev1.Taint) bool {
	return OfReadiness(t) && Ready(n.Object) || t.Key == RebootingTaint && n.Claim != nil && n.Claim.Is(Rebooting)
}

// Passing reports whether a taint belongs to the start of a node.
func (n *Node) Passing(t corev1.Taint) bool {
	same := func(o corev1.Taint) bool { return t.MatchTaint(&o) }
	return n.Claim != nil && slices.ContainsFunc(n.Claim.StartupTaints, same) || slices.ContainsFunc(n.Learned, same) || KnownEphemeral(t) ||
		t.Key == PlannedTaint || t.Key == NotInitializedTaint && n.Claim != nil && n.Claim.Annotations[RetainedAnnotation] == ""
}

// NotInitializedTaint is the key of the taint that keeps pods off a node: until it is initialized,
// where the policy of its pool says so, or because it was not in time and is retained.
const NotInitializedTaint = "millwright.dev/not-initialized"

// RetainedAnnotation holds, on a claim whose machine is kept without pods because it was not
// initialized in time, since when, as RFC 3339.
const RetainedAnnotation = "millwright.dev/retained"

// LackedAnnotation names, on a claim whose machine was not initialized in time because its Node does
// not have a resource that the claim requests, the resource.
const LackedAnnotation = "millwright.dev/lacked-resource"

// UnregisteredTaint is the key of the taint with which a machine joins the cluster.
const UnregisteredTaint = "karpenter.sh/unregistered"

// RebootingTaint is the key of the taint that keeps pods off a node that is rebooted for its repair,
// from before the drain until it has booted.
const RebootingTaint = "karpenter.sh/rebooting"

// PlannedTaint is the key of the taint, and of the tolerations for it, by which a new node
// takes first the pods that it was launched for. Its value is the UID of the claim.
const PlannedTaint = "millwright.dev/planned-pods"

// KnownEphemeral reports whether a taint is one that Kubernetes, the cloud's
// controllers or Karpenter take off a node while it starts, also once more. Values
// do not matter.
func KnownEphemeral(t corev1.Taint) bool {
	switch t.Key {
	case corev1.TaintNodeNotReady:
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	case RebootingTaint, corev1.TaintNodeUnreachable, "node.cloudprovider.kubernetes.io/uninitialized":
		return t.Effect == corev1.TaintEffectNoSchedule
	case UnregisteredTaint:
		return t.Effect == corev1.TaintEffectNoExecute
	}
	return strings.HasPrefix(t.Key, "readiness.k8s.io/")
}

// OfReadiness reports whether a taint is one that the node lifecycle controller puts on a node and
// takes off by what the kubelet reports, which no pod does.
func OfReadiness(t corev1.Taint) bool {
	return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
}

// Allocatable is what pods can request on the node. Until it is initialized,
// the claim's estimate stands in for what the Node does not report yet, but for
// a resource that it was to have by now; until it is launched, only what the
// claim requests is certain. The caller must not modify the map.
func (n *Node) Allocatable() corev1.ResourceList {
	out := n.amounts(func(s *corev1.NodeStatus) corev1.ResourceList { return s.Allocatable }, func(c *Claim) corev1.ResourceList { return c.Allocatable })
	if len(n.Devices) == 0 {
		return out
	}
	with := make(corev1.ResourceList, len(out)+len(n.Devices))
	maps.Copy(with, out)
	maps.Copy(with, n.Devices)
	if _, there := out[n.lacked()]; !there {
		delete(with, n.lacked())
	}
	return with
}

// lacked is a resource that the Node was to have by now.
func (n *Node) lacked() corev1.ResourceName {
	if n.Claim == nil || n.Initialized() {
		return ""
	}
	return corev1.ResourceName(n.Claim.Annotations[LackedAnnotation])
}

// Capacity is the size of the machine, known like its Allocatable.
func (n *Node) Capacity() corev1.ResourceList {
	return n.amounts(func(s *corev1.NodeStatus) corev1.ResourceList { return s.Capacity }, func(c *Claim) corev1.ResourceList { return c.Capacity })
}

func (n *Node) amounts(ofNode func(*corev1.NodeStatus) corev1.ResourceList, ofClaim func(*Claim) corev1.ResourceList) corev1.ResourceList {
	if n.Claim == nil || n.Initialized() {
		return ofNode(&n.Object.Status)
	}
	out := corev1.ResourceList{}
	estimate := ofClaim(n.Claim)
	if len(estimate) == 0 {
		estimate = n.Claim.Requests
	}
	for name, q := range estimate {
		out[name] = q
	}
	if n.Object == nil {
		return out
	}
	delete(out, n.lacked())
	for name, q := range ofNode(&n.Object.Status) {
		if !q.IsZero() {
			out[name] = q
		}
	}
	return out
}
