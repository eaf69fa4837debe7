package cloud

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Provider rents out machines. Implementations are safe for concurrent use.
type Provider interface {
	// InstanceTypes lists what can be launched under a node class, by name, with
	// the types that are sold out at present (their offerings are unavailable).
	// The result is shared: the caller must not modify it. It is called often
	// and must answer from memory.
	//
	// Errors: ClassNotReadyError.
	InstanceTypes(ctx context.Context, class snapshot.ClassRef) ([]*catalog.Type, error)

	// Launch rents one machine, the first of the request's choices that the
	// cloud can deliver; among spot choices, the cloud may take one that it is less
	// likely to want back. Two launches with the same token return the same
	// instance and start only one machine.
	//
	// Errors: InsufficientCapacityError when no choice can be had,
	// ClassNotReadyError, RefusedError, ThrottledError, UnauthorizedError.
	Launch(ctx context.Context, req LaunchRequest) (Instance, error)

	// Get describes one machine. Errors: ErrNotFound once it is gone for good.
	Get(ctx context.Context, providerID string) (Instance, error)

	// List describes every machine that this cluster's launches left behind,
	// those that are shutting down included. It may lag behind Launch.
	List(ctx context.Context) ([]Instance, error)

	// Terminate begins to shut a machine down and returns at once; nil while it
	// goes on. Errors: ErrNotFound once it is gone for good, TerminationError.
	Terminate(ctx context.Context, providerID string) error
}

// LaunchRequest asks for one machine.
type LaunchRequest struct {
	// Token makes the launch idempotent: the UID of the claim.
	Token string
	// Claim and Pool are names, for tags. Pool is empty for a claim made by hand.
	Claim, Pool string
	Class       snapshot.ClassRef
	// Choices are what would do, best first; never empty.
	Choices []catalog.Choice
	// Labels, Annotations and Taints that the node shall have when it registers,
	// the unregistered and startup taints among them.
	Labels, Annotations map[string]string
	Taints              []corev1.Taint
	// Requests are what the pods of the plan ask for, for clouds that attach some devices
	// only to machines that need them.
	Requests corev1.ResourceList
	// Failed, if set, is told of every offering that the cloud did not deliver, also when it
	// delivered another.
	Failed func(LaunchFailure)
}

// Fail tells of an offering that was not delivered.
func (r *LaunchRequest) Fail(f LaunchFailure) {
	if r.Failed != nil {
		r.Failed(f)
	}
}

// Instance is one machine.
type Instance struct {
	// ProviderID is the machine's name in Node.spec.providerID.
	ProviderID string
	// Token is that of the launch.
	Token string
	// Claim and Pool are those of the launch.
	Claim, Pool string
	Type        string
	Zone        string
	// CapacityType is spot, on-demand or reserved.
	CapacityType string
	ImageID      string
	State        State
	Launched     time.Time
	// Labels are those that the cloud decided: instance type, zone, capacity
	// type, architecture and whatever else the choice implies.
	Labels map[string]string
	// Annotations are those that the cloud wants on the claim, and later looks for: from
	// which state of its class the machine was launched.
	Annotations map[string]string
	// Capacity and Allocatable are what the node is expected to report.
	Capacity, Allocatable corev1.ResourceList
	// JoinsBare says that the node will join with the unregistered taint, but without
	// the other taints of the request, because its user data are not the provider's.
	// They are then added when it has joined. Only the answer to a launch has it.
	JoinsBare bool
	// Lacked says what kept an earlier choice from being delivered, other than the cloud's
	// capacity: a quota of the account, the addresses of a subnet. Empty if nothing did. Only
	// the answer to a launch has it.
	Lacked string
}

// LaunchedFor reports whether a claim is the machine's. What another controller launched has
// no token, and says only how the claim is called.
func (i Instance) LaunchedFor(claim string, uid types.UID) bool {
	return i.Token == string(uid) || i.Token == "" && i.Claim == claim
}

// State is where a machine is in its life.
type State string

const (
	Pending      State = "pending"
	Running      State = "running"
	ShuttingDown State = "shutting-down"
	Stopping     State = "stopping"
	Stopped      State = "stopped"
)
