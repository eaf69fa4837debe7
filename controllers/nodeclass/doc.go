// Package nodeclass serves the node classes of a provider that keeps their status
// (cloud.ClassKeeper).
//
//	class ──► finalizer ──► claims re-stamped ──► Resolve ──► status, hash
//	class that is deleted ──► waits for its claims ──► Release ──► finalizer dropped
//
// The hash of a class's spec is on the class and on the claims that were launched from it;
// where they differ, a machine has drifted. A hash that was computed in another way means
// nothing: then the claims are carried over to ours before the class is, so that when this is
// cut off it is done again, and no machine is replaced for a change of controller.
package nodeclass
