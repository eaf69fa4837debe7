package cloud

import "context"

// Rebooter is a provider whose machines can be rebooted where they are. It is found by assertion.
type Rebooter interface {
	// Reboot tells a machine to reboot and returns at once; twice in a row may be two reboots.
	// Errors: ErrNotFound, UnauthorizedError, ThrottledError.
	Reboot(ctx context.Context, providerID string) error
}
