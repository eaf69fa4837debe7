// Package events reads what AWS announces about EC2 instances: the bodies of
// messages that EventBridge puts into a queue.
//
//	body ──► Reader.Read ──► []interruption.Event, or a Refusal
//
// It is strict, because who may write to the queue can write anything: a
// body counts only if it is whole, of a kind and version that are known, from the
// account and region that are expected, and neither old nor from the future.
// Whether its machine is one of ours is decided later, by the snapshot. What is
// refused is counted by the reason, and nothing else is made of it.
//
// Nothing here is confirmed: an event says what a message says. The package does
// no input or output and is safe for concurrent use as far as its values are.
package events
