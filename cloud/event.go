package cloud

import (
	"context"

	"github.com/millwright-dev/millwright/engine/interruption"
)

// Event is what a cloud announces about a machine, in words that are the same for
// every cloud.
type Event = interruption.Event

// EventSource is a provider that hears what its cloud announces. It is found by
// assertion.
type EventSource interface {
	// Events lists what stands at present, each event once and as it was last heard
	// of: what is cancelled or completed stays in the list for as long as the cloud
	// speaks of it, and what is not there any more counts as over. It is called
	// often and must answer from memory.
	Events(ctx context.Context) ([]Event, error)
}
