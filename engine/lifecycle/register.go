package lifecycle

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Names that Karpenter puts on Nodes.
const (
	RegisteredLabel      = "karpenter.sh/registered"
	InitializedLabel     = "karpenter.sh/initialized"
	DoNotSyncTaintsLabel = "karpenter.sh/do-not-sync-taints"
	Finalizer            = "karpenter.sh/termination"
)

// JoinsBareAnnotation is "true" on a claim whose machine joins with the
// unregistered taint only, because its user data are not the provider's: the
// claim's taints are then added at registration.
const JoinsBareAnnotation = "millwright.dev/joins-bare"

// Unregistered is the taint with which a machine joins the cluster.
var Unregistered = corev1.Taint{Key: snapshot.UnregisteredTaint, Effect: corev1.TaintEffectNoExecute}

// registerBy is when the Node must be there. Where the claim had to wait for its turn for longer than
// a launch may take, its machine has the whole time from then on.
func registerBy(v View) time.Time {
	from, launched := since(v.Claim, snapshot.Registered), since(v.Claim, snapshot.Launched)
	if launched.Sub(from) > v.Policy.LaunchTimeout {
		from = launched
	}
	return from.Add(v.Policy.RegistrationTimeout)
}

func register(v View) Step {
	c := v.Claim
	deadline := registerBy(v)
	s := Step{Gates: passed(v, GateLaunched), Wake: deadline}
	switch {
	case len(v.Nodes) == 1:
		return takeOver(v, s)
	case len(v.Nodes) == 0 && c.NodeName != "":
		return lost(v)
	}
	r, status := notFound(c), corev1.ConditionUnknown
	r.Since = since(c, snapshot.Launched)
	if len(v.Nodes) > 1 {
		r.Code, r.Objects, status = plan.MultipleNodesFound, nodeRefs(v.Nodes), corev1.ConditionFalse
	}
	s.Gates = append(s.Gates, Gate{Name: GateNode, Since: r.Since, Reason: r, Next: Next{Actor: Kubelet, Then: GiveUp, At: deadline}})
	if !v.Now.Before(deadline) {
		s.Delete = RegistrationTimedOut
		return s
	}
	s.Conditions = []plan.Condition{waiting(snapshot.Registered, status, r)}
	return s
}

func notFound(c *snapshot.Claim) plan.Reason {
	return plan.Reason{Code: plan.NodeNotFound, Objects: []plan.ObjectRef{plan.ClaimRef(c.Name)}, Want: c.ProviderID}
}

// takeOver makes the one Node ours.
func takeOver(v View, s Step) Step {
	node := v.Nodes[0]
	joined := node.CreationTimestamp.Time
	s.Gates = append(s.Gates, Gate{Name: GateNode, Open: true, Since: joined})
	if node.Labels[RegisteredLabel] != "true" {
		if !v.Hold.Until.IsZero() {
			gate := held(v, joined)
			s.Gates, s.Wake = append(s.Gates, gate), v.Hold.Until
			if c := v.Claim; !c.Is(snapshot.Registered) && c.NodeName != node.Name { // known from now on, so that it is missed if it goes
				s.NodeName, s.Conditions = node.Name, []plan.Condition{waiting(snapshot.Registered, corev1.ConditionUnknown, gate.Reason)}
			}
			if nomination.Ready(&snapshot.Node{Object: node, Claim: v.Claim, Learned: v.Learned}) {
				s.Wake = v.Now.Add(v.HoldPoll)
			}
			return s
		}
		s.Node = registration(v.Claim, node)
		if v.Policy.Taint {
			s.Node.AddTaints = append(s.Node.AddTaints, NotInitialized)
		}
		if v.Policy.PlannedFirst && nomination.PlannedFirst(v.Awaited) {
			s.Node.AddTaints = append(s.Node.AddTaints, nomination.PlannedTaint(v.Claim))
		}
		s.UntaintedNode = !hasTaint(node.Spec.Taints, Unregistered)
		s.Gates = append(s.Gates, Gate{Name: GateRegistered, Since: joined, Reason: plan.Reason{
			Code: plan.RegistrationPending, Objects: nodeRefs(v.Nodes), Since: joined,
		}, Next: Next{Actor: Millwright}})
	}
	s.NodeName, s.Conditions = node.Name, []plan.Condition{done(snapshot.Registered)}
	return s
}

// keep makes the Node ours again whose finalizer someone has taken off: once it is deleted it would
// be gone at once, and with it whatever says that its pods and volumes have to leave first.
func (s *Step) keep(v View) {
	if len(v.Nodes) != 1 {
		return
	}
	if n := v.Nodes[0]; n.Labels[RegisteredLabel] == "true" && !Ours(n) && n.DeletionTimestamp == nil {
		s.change(v).TakeOver = true
	}
}

// held is closed for as long as it is worth waiting for nominations of pods planned for the
// Node: once it takes pods, kube-scheduler would give their room to others.
func held(v View, joined time.Time) Gate {
	return Gate{Name: GateRegistered, Since: joined, Reason: plan.Reason{
		Code: plan.NominationPending, Objects: append(nodeRefs(v.Nodes), v.Hold.For...), Since: joined,
	}, Next: Next{Actor: Millwright, At: v.Hold.Until}}
}

// registration is the change that gives a Node what its claim demands.
func registration(c *snapshot.Claim, node *corev1.Node) *NodeChange {
	change := &NodeChange{
		Claim:        c,
		Labels:       maps.Clone(c.Labels),
		Annotations:  c.Annotations,
		RemoveTaints: []corev1.Taint{Unregistered},
		TakeOver:     true,
	}
	if change.Labels == nil {
		change.Labels = map[string]string{}
	}
	change.Labels[RegisteredLabel] = "true"
	if bare(c, node) && node.Labels[DoNotSyncTaintsLabel] != "true" && c.Labels[DoNotSyncTaintsLabel] != "true" {
		change.AddTaints = slices.Concat(c.Taints, c.StartupTaints)
	}
	return change
}

// bare reports whether a Node joined without the claim's taints. Every launch asks
// for them, together with the unregistered taint: where that one is, the others
// were, and one that is missing has been removed since.
func bare(c *snapshot.Claim, node *corev1.Node) bool {
	return !hasTaint(node.Spec.Taints, Unregistered) || c.Annotations[JoinsBareAnnotation] == "true"
}

// NodeChange is one write to a Node.
type NodeChange struct {
	// Claim owns the Node.
	Claim *snapshot.Claim
	// Labels and Annotations to set; they win over the Node's.
	Labels, Annotations map[string]string
	// AddTaints go where the Node has none of the same key and effect;
	// RemoveTaints by key and effect.
	AddTaints, RemoveTaints []corev1.Taint
	// TakeOver adds the finalizer and the claim as the owner.
	TakeOver bool
}

// Apply makes the change on a copy of the Node. Applying twice is the same as
// once.
func (n *NodeChange) Apply(node *corev1.Node) {
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	maps.Copy(node.Labels, n.Labels)
	if node.Annotations == nil && len(n.Annotations) > 0 {
		node.Annotations = map[string]string{}
	}
	maps.Copy(node.Annotations, n.Annotations)
	node.Spec.Taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return hasTaint(n.RemoveTaints, t) })
	for _, t := range n.AddTaints {
		if !hasTaint(node.Spec.Taints, t) {
			node.Spec.Taints = append(node.Spec.Taints, t)
		}
	}
	if n.TakeOver {
		n.takeOver(node)
	}
}

func (n *NodeChange) takeOver(node *corev1.Node) {
	if !slices.Contains(node.Finalizers, Finalizer) {
		node.Finalizers = append(node.Finalizers, Finalizer)
	}
	if slices.ContainsFunc(node.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == n.Claim.UID }) {
		return
	}
	block := true
	node.OwnerReferences = append(node.OwnerReferences, metav1.OwnerReference{
		APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: n.Claim.Name, UID: n.Claim.UID, BlockOwnerDeletion: &block,
	})
}

func nodeRefs(nodes []*corev1.Node) []plan.ObjectRef {
	out := make([]plan.ObjectRef, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, plan.NodeRef(n.Name))
	}
	return out
}
