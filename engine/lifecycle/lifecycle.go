package lifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// View is what is known about a claim.
type View struct {
	Now   time.Time
	Claim *snapshot.Claim
	// Nodes are those that carry the claim's provider ID, by name, but for Foreign ones;
	// see [snapshot.Claim.Own].
	Nodes, Foreign []*corev1.Node
	// Hold is what keeps the Node from taking pods, and HoldPoll how soon to look again whether it
	// does once the Node is ready; only read until it is registered.
	Hold     nomination.Hold
	HoldPoll time.Duration
	// Types are the instance types of the claim's class, by name; only read until
	// the claim is launched.
	Types []*catalog.Type
	// Refused reports offerings that the cloud could not deliver lately; nil for
	// none.
	Refused func(catalog.Key) bool
	// Slices are the ResourceSlices of the Node; only read if the claim lists DRA
	// drivers.
	Slices []*resourcev1.ResourceSlice
	// Policy is what the pool's NodePolicy decides.
	Policy snapshot.Initialization
	// Learned are taints of the pool's new Nodes that are removed within minutes although
	// the pool does not declare them.
	Learned []corev1.Taint
	// Pods are those on the Node and those that the latest plan puts there;
	// CSINode is the Node's, nil if there is none; DaemonSets are the cluster's. All
	// of them, and Volumes, are only read between registration and initialization.
	Pods       []*snapshot.Pod
	CSINode    *storagev1.CSINode
	DaemonSets []*snapshot.DaemonSet
	Volumes    snapshot.Volumes
	// Awaited are the pods that still wait of those that the Node was launched for, as
	// [nomination.Awaited] has them; only read if [View.PlannedFirst].
	Awaited []*snapshot.Pod
}

// Step is what to do next. More than one field can be set; they are carried out
// in the order of the fields.
type Step struct {
	// Search says to look among all machines of the cloud for the claim's before anything else; the
	// rest is for the case that there is none.
	Search bool
	// Launch are the choices to ask the cloud for; nil if it is not to be asked.
	Launch []catalog.Choice
	// Delete is why to give the claim up; empty to keep it.
	Delete DeleteReason
	// Node is a change to the one Node, nil if there is none to make.
	Node *NodeChange
	// NodeName is what the claim's status shall name once Node is done.
	NodeName string
	// Conditions to set on the claim once Node is done.
	Conditions []plan.Condition
	// Overdue is the gate that has been closed for too long and that its owner is to
	// be told of; nil if there is none.
	Overdue *Gate
	// UntaintedNode is true if the Node joined without the unregistered taint, so
	// that pods may have started on it too early.
	UntaintedNode bool
	// Annotations to set on the claim; an empty one is taken off.
	Annotations map[string]string
	// Gates are all stages in their order, up to the first one that nothing is
	// known about.
	Gates []Gate
	// Wake is when to look again although nothing changed; zero for never.
	Wake time.Time
}

// Blocked is why the machine comes no further, in words: the first closed gate's
// reason. It is empty if all gates are open.
func (s Step) Blocked() string {
	if g := s.Blocker(); g != nil {
		return g.Reason.Message()
	}
	return ""
}

// DeleteReason is why a claim is given up, in the words of the metric
// karpenter_nodeclaims_disrupted_total.
type DeleteReason string

const (
	LaunchTimedOut       DeleteReason = "launch_timeout"
	RegistrationTimedOut DeleteReason = "registration_timeout"
	// InitializationTimedOut and StaleTaint: the policy gives up machines that are not
	// ready for work in time, or that keep the taint which the cloud's controller
	// should have removed.
	InitializationTimedOut DeleteReason = "initialization_timeout"
	StaleTaint             DeleteReason = "stale_uninitialized_taint"
	InsufficientCapacity   DeleteReason = "insufficient_capacity"
	NodeClassNotReady      DeleteReason = "nodeclass_not_ready"
	// NodeLost: the Node of a registered machine was removed past its finalizer. Its
	// kubelet does not make another, so that nothing can run there any more.
	NodeLost DeleteReason = "garbage_collected"
	// MachineEnded: the cloud ended the machine before its Node registered, such as EC2 one whose
	// encrypted volumes it may not open, or its Node was deleted before that.
	MachineEnded DeleteReason = "machine_ended"
)

// GivenUpAnnotation holds, on a claim that is deleted because its machine failed,
// the reason.
const GivenUpAnnotation = "millwright.dev/given-up"

// Retained is since when a claim's machine is kept without pods, zero if it is not.
func Retained(c *snapshot.Claim) time.Time {
	since, err := time.Parse(time.RFC3339, c.Annotations[snapshot.RetainedAnnotation])
	if err != nil || c.Is(snapshot.Initialized) {
		return time.Time{}
	}
	return since
}

// Kept is since when a machine that has failed is kept, zero if it is not: it is retained, or is
// only told of and lacks a resource.
func Kept(c *snapshot.Claim) time.Time {
	if said := c.Conditions[snapshot.Initialized]; c.Annotations[snapshot.LackedAnnotation] != "" && said.Status == corev1.ConditionFalse {
		return said.Since
	}
	return Retained(c)
}

// Failure reports whether the reason says something against the machine, its image
// or its configuration, so that another like it may fail as well.
func (r DeleteReason) Failure() bool {
	switch r {
	case LaunchTimedOut, RegistrationTimedOut, InitializationTimedOut, StaleTaint, MachineEnded:
		return true
	}
	return false
}

// Ended is why a claim is deleted whose machine the cloud has ended, or whose Node is lost: before
// that has registered it is a failure, unless the claim is being deleted already.
func Ended(c *snapshot.Claim) DeleteReason {
	if c.Deleted.IsZero() && !c.Is(snapshot.Registered) {
		return MachineEnded
	}
	return NodeLost
}

// Gate is one thing that a machine must get past.
type Gate struct {
	Name GateName
	Open bool
	// Since is when the gate got its present state, zero if not known.
	Since time.Time
	// Reason is why a closed gate is closed.
	Reason plan.Reason
	// Next is who has to open it, and what happens otherwise.
	Next Next
}

// Blocker is the first closed gate, nil if all are open.
func (s Step) Blocker() *Gate {
	i := slices.IndexFunc(s.Gates, func(g Gate) bool { return !g.Open })
	if i < 0 {
		return nil
	}
	return &s.Gates[i]
}

// GateName names a gate.
type GateName string

// The gates, in order.
const (
	GateLaunched        GateName = "Launched"
	GateNode            GateName = "NodeJoined"
	GateRegistered      GateName = "Registered"
	GateReady           GateName = "NodeReady"
	GateStartupTaints   GateName = "StartupTaints"
	GateEphemeralTaints GateName = "EphemeralTaints"
	GateResources       GateName = "Resources"
	GateDRA             GateName = "DRADrivers"
	GateCSI             GateName = "CSIDrivers"
	GateConditions      GateName = "NodeConditions"
	GateDaemonSets      GateName = "DaemonSets"
)

// later are the gates behind registration, in order.
var later = []GateName{
	GateReady, GateStartupTaints, GateEphemeralTaints, GateResources, GateDRA,
	GateCSI, GateConditions, GateDaemonSets,
}

// Decide finds the next step for a claim that is not being deleted; for one
// that is, the step is empty.
//
// A Node that was made anew after its machine had been registered, as a kubelet
// does that finds its Node gone when it starts, is taken through registration and
// initialization again; the claim's conditions stay.
func Decide(v View) Step {
	v.Policy = v.Policy.Defaulted()
	s := decide(v)
	if s.Delete == "" && v.Claim.Deleted.IsZero() && v.Claim.Is(snapshot.Registered) {
		s.endReboot(v)
		s.observe(v)
		s.keep(v)
	}
	return s
}

// Starting reports whether the machine is registered and not initialized yet, so that
// what its agents say matters. It is initialized when claim and Node both say so; they
// are written one after the other.
func (v View) Starting() bool {
	return v.Claim.Is(snapshot.Registered) &&
		(!v.Claim.Is(snapshot.Initialized) || len(v.Nodes) == 1 && v.Nodes[0].Labels[InitializedLabel] != "true")
}

// PlannedFirst reports whether the Node takes first the pods that it was launched for: whether it
// has the taint that says so, or gets it when it is registered.
func (v View) PlannedFirst() bool {
	if len(v.Nodes) != 1 {
		return false
	}
	node := v.Nodes[0]
	return v.Policy.PlannedFirst && node.Labels[RegisteredLabel] != "true" || hasTaint(node.Spec.Taints, nomination.PlannedTaint(v.Claim))
}

// DuplicateNodes says that foreign Nodes carry the machine's provider ID; false if none does.
func (v View) DuplicateNodes() (plan.Reason, bool) {
	if len(v.Foreign) == 0 {
		return plan.Reason{}, false
	}
	return plan.Reason{Code: plan.MultipleNodesFound, Objects: append([]plan.ObjectRef{plan.NodeRef(v.Claim.NodeName)}, nodeRefs(v.Foreign)...), Want: v.Claim.ProviderID}, true
}

func decide(v View) Step {
	switch c := v.Claim; {
	case !c.Deleted.IsZero():
		return Step{}
	case !c.Is(snapshot.Launched):
		return launch(v)
	case c.ProviderID == "": // wiped; garbage collection finds the machine again, or that it is gone
		return Step{Gates: passed(v, GateLaunched)}
	case !c.Is(snapshot.Registered):
		return register(v)
	case len(v.Nodes) == 0:
		return lost(v)
	case len(v.Nodes) == 1 && v.Nodes[0].Labels[RegisteredLabel] != "true":
		return takeOver(v, Step{Gates: passed(v, GateLaunched)})
	case v.Starting():
		return initialize(v)
	default:
		return Step{Gates: passed(v, append([]GateName{GateLaunched, GateNode, GateRegistered}, later...)...)}
	}
}

// lost gives up a machine whose Node was there and is not any more.
func lost(v View) Step {
	return Step{Delete: Ended(v.Claim), Gates: append(passed(v, GateLaunched), Gate{Name: GateNode, Reason: notFound(v.Claim)})}
}

// passed are gates that are open because a condition of the claim says so.
func passed(v View, names ...GateName) []Gate {
	out := make([]Gate, 0, len(names))
	for _, n := range names {
		condition := snapshot.Initialized
		switch n {
		case GateLaunched:
			condition = snapshot.Launched
		case GateNode, GateRegistered:
			condition = snapshot.Registered
		}
		out = append(out, Gate{Name: n, Open: true, Since: v.Claim.Conditions[condition].Since})
	}
	return out
}

// since is when a claim's condition last changed, its creation if it never did.
func since(c *snapshot.Claim, condition string) time.Time {
	if at := c.Conditions[condition].Since; !at.IsZero() {
		return at
	}
	return c.Created
}

// waiting turns a closed gate into a condition of the claim.
func waiting(condition string, status corev1.ConditionStatus, r plan.Reason) plan.Condition {
	return plan.Condition{Type: condition, Status: status, Reason: string(r.Code), Message: r.Message()}
}

func done(condition string) plan.Condition {
	return plan.Condition{Type: condition, Status: corev1.ConditionTrue, Reason: condition}
}
