package cloud

import (
	"context"
	"time"
)

// Queue brings messages in which a cloud announces something, each at least once
// and in any order. Implementations are safe for concurrent use.
type Queue interface {
	// Receive waits for messages, some seconds at most, and returns those that there
	// are, which may be none. Until Settle they are kept from other receivers for a
	// while; then they are delivered again.
	Receive(ctx context.Context) ([]Message, error)

	// Settle does with messages what their outcome says. With an error, some of them
	// are delivered again.
	Settle(ctx context.Context, messages []Message) error
}

// Message is one message of a queue.
type Message struct {
	// Events are what it announces, one for every machine that it is about; none if
	// there is a refusal.
	Events []Event
	// Refusal is why the message does not count: a word of a short list of the
	// queue's. Empty if it counts. Why is what is wrong with one that cannot be read.
	Refusal, Why string
	// Again says that the queue has delivered it before.
	Again bool
	// Sent is when it was put into the queue, zero if that is not known.
	Sent time.Time
	// Outcome is what became of it; set before Settle.
	Outcome Outcome
	// Handle is the queue's own.
	Handle any
}

// RefusedBefore reports whether a message that does not count is no news: without a place to keep
// such messages a queue delivers them again and again.
func (m *Message) RefusedBefore() bool { return m.Refusal != "" && m.Again }

// Outcome is what became of a message.
type Outcome string

// The outcomes. A queue forgets messages that are Recorded, Duplicate, Stranger or
// Irrelevant, keeps for people to look at what is Refused, and delivers again what
// is Later.
const (
	// Recorded: on record since now.
	Recorded Outcome = "Recorded"
	// Duplicate: it says nothing that was not on record, or not any more.
	Duplicate Outcome = "Duplicate"
	// Stranger: about no machine of ours.
	Stranger Outcome = "Stranger"
	// Irrelevant: of a kind that nothing follows from.
	Irrelevant Outcome = "Irrelevant"
	// Refused: it does not count, see Refusal.
	Refused Outcome = "Refused"
	// Later: it could not be recorded now.
	Later Outcome = "Later"
)

// Inspector asks a cloud's own API what it has announced. Implementations are safe
// for concurrent use.
type Inspector interface {
	// Source is the Source of its events.
	Source() string

	// List is everything that stands at present about any machine, all confirmed.
	// Errors: ThrottledError, UnauthorizedError.
	List(ctx context.Context) ([]Event, error)

	// Confirm returns those of some events that the API confirms as well, in its own
	// words. What it cannot know, it does not confirm. Errors: as List.
	Confirm(ctx context.Context, events []Event) ([]Event, error)
}

// Announcements are where a cloud's announcements come from, besides a provider
// that is an EventSource.
type Announcements struct {
	// Queue and Inspector may each be nil.
	Queue     Queue
	Inspector Inspector
	// Every is the time from one List of the inspector to the next; positive if there
	// is one.
	Every time.Duration
}
