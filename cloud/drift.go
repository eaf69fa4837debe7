package cloud

import "context"

// Drifter is a provider that knows when a machine is no longer what its node class
// asks for: another image, another subnet. It is found by assertion.
type Drifter interface {
	// Drifted says why a machine has drifted, in Karpenter's words (AMIDrift,
	// SubnetDrift …); empty if it has not. It is called often and must answer from
	// memory. Errors: ErrNotFound, ClassNotReadyError.
	Drifted(ctx context.Context, providerID string) (reason string, err error)
}

// As finds an optional interface of a provider, through whatever is wrapped around
// it.
func As[T any](p Provider) (T, bool) {
	for p != nil {
		if found, ok := p.(T); ok {
			return found, true
		}
		wrapper, ok := p.(interface{ Unwrap() Provider })
		if !ok {
			break
		}
		p = wrapper.Unwrap()
	}
	var none T
	return none, false
}
