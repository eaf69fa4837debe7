// Package interruption carries out what engine/interruption decides about what
// the cloud announces.
//
//	cloud.EventSource, Store ─► interruption.Decide ─┬► Cordon     the taint millwright.dev/interruption
//	                                                 ├► Uncordon   takes it off
//	                                                 ├► Evict      pods that need not wait for the machine's time
//	                                                 ├► Restart    stops and starts the machine, step by step on a record
//	                                                 ├► Replace    asks package disruption for a replacement, on the claim
//	                                                 ├► Drain      deletes the claim; termination does the rest
//	                                                 ├► Terminate  the same, with a deadline that is now
//	                                                 ├► DisruptionRequests, and what they show
//	                                                 └► events on Node and claim, the condition Interrupted
//
// A look does what is due and remembers nothing: what has been done is seen on the
// objects, so that a look that is cut off is made good by the next. The deadline
// is written before the claim is deleted, and only ever moved forward; so is what a
// rate limit is drawn by. Offerings that are being reclaimed are noted on NodePools.
// A machine whose policy says Ignore is not written to at all.
//
// Looks come when the list of what stands changes, when Nodes, claims, pods,
// policies or requests change while something stands, and at the time at which a
// decision changes by itself.
//
// Announcements come from a provider that is a cloud.EventSource, and from the
// records that controllers/feed keeps on the claims.
package interruption
