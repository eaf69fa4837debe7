// Package termination takes claims and Nodes away, from whichever end the
// removal began.
//
//	Node deleted  ──► its claim is deleted ──┐
//	claim deleted ──► its Node is deleted ───┼──► drain (engine/drain) ──► machine
//	pool deleted  ──► its claims are deleted ┘    gone ──► finalizers go
//
// [Reconciler] serves Nodes: it drains, waits for volumes, stops the machine and
// removes the Node's finalizer last. [Claim] serves the finalizer of a claim on
// behalf of package lifecycle: it waits for the Nodes, makes sure that no machine
// is left, and removes the finalizer.
//
// A machine is stopped only after a last look at the API server itself, because a
// cache may not have seen the pod or volume that arrived a moment ago, and at what
// the cloud has attached to the machine, where it can tell. A Node that carries our
// finalizer but has no claim is treated like any other: its provider ID is enough to
// stop the machine.
package termination
