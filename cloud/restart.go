package cloud

import "context"

// Restarter is a provider whose machines can be stopped and started again, which moves them
// to other hardware: their volumes and their name in Node.spec.providerID stay. It is found
// by assertion.
type Restarter interface {
	// Irrestartable says why a machine cannot be restarted, or would lose data; empty if it
	// can. Errors: ErrNotFound, ThrottledError, UnauthorizedError.
	Irrestartable(ctx context.Context, providerID string) (why string, err error)

	// Stop begins to stop a machine, and Start to start a stopped one; both return at once,
	// and do nothing to one that is there already. Errors: ErrNotFound, ThrottledError,
	// UnauthorizedError; of Start, InsufficientCapacityError when the cloud has no room.
	Stop(ctx context.Context, providerID string) error
	Start(ctx context.Context, providerID string) error
}
