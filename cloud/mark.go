package cloud

import "context"

// Marker is a provider whose machines say in the cloud to which claim and Node they belong,
// for bills and for people who look at them there. Launch writes it; another controller may
// have launched a machine and not written it yet. It is found by assertion.
type Marker interface {
	// Mark writes what is missing on a machine, which must have been listed before, and
	// returns the annotations that its claim then has. Errors: ErrNotFound, ThrottledError,
	// UnauthorizedError.
	Mark(ctx context.Context, providerID, claim, node string) (annotations map[string]string, err error)
}
