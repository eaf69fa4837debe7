package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// How long a claim may take, measured from its creation.
const (
	LaunchTimeout       = 5 * time.Minute
	RegistrationTimeout = 15 * time.Minute
)

// View is what is known about a claim.
type View struct {
	Now   time.Time
	Claim *snapshot.Claim
	// Nodes are those that carry the claim's provider ID, by name.
	Nodes []*corev1.Node
	// Types are the instance types of the claim's class, by name; only read until
	// the claim is launched.
	Types []*catalog.Type
	// Refused reports offerings that the cloud could not deliver lately; nil for
	// none.
	Refused func(catalog.Key) bool
	// Slices are the ResourceSlices of the Node; only read if the claim lists DRA
	// drivers.
	Slices []*resourcev1.ResourceSlice
}

// Step is what to do next. More than one field can be set; they are carried out
// in the order of the fields.
type Step struct {
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
	// UntaintedNode is true if the Node joined without the unregistered taint, so
	// that pods may have started on it too early.
	UntaintedNode bool
	// Gates are all stages in their order, up to the first one that nothing is
	// known about.
	Gates []Gate
	// Wake is when to look again although nothing changed; zero for never.
	Wake time.Time
}

// Blocked is why the machine comes no further, in words: the first closed gate's
// reason. It is empty if all gates are open.
func (s Step) Blocked() string {
	for _, g := range s.Gates {
		if !g.Open {
			return g.Reason.Message()
		}
	}
	return ""
}

// DeleteReason is why a claim is given up, in the words of the metric
// karpenter_nodeclaims_disrupted_total.
type DeleteReason string

const (
	LaunchTimedOut       DeleteReason = "launch_timeout"
	RegistrationTimedOut DeleteReason = "registration_timeout"
	InsufficientCapacity DeleteReason = "insufficient_capacity"
	NodeClassNotReady    DeleteReason = "nodeclass_not_ready"
	// NodeLost: the Node of a registered machine was removed past its finalizer. Its
	// kubelet does not make another, so that nothing can run there any more.
	NodeLost DeleteReason = "garbage_collected"
)

// Gate is one thing that a machine must get past.
type Gate struct {
	Name GateName
	Open bool
	// Since is when the gate got its present state, zero if not known.
	Since time.Time
	// Reason is why a closed gate is closed.
	Reason plan.Reason
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
)

// Next decides on the next step for a claim that is not being deleted; for one
// that is, the step is empty.
func Next(v View) Step {
	switch c := v.Claim; {
	case !c.Deleted.IsZero():
		return Step{}
	case !c.Is(snapshot.Launched):
		return launch(v)
	case !c.Is(snapshot.Registered):
		return register(v)
	case len(v.Nodes) == 0:
		return Step{Delete: NodeLost, Gates: append(passed(v, GateLaunched), Gate{Name: GateNode, Reason: notFound(c)})}
	case !c.Is(snapshot.Initialized):
		return initialize(v)
	default:
		return Step{Gates: passed(v, GateLaunched, GateNode, GateRegistered, GateReady, GateStartupTaints, GateEphemeralTaints, GateResources, GateDRA)}
	}
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
