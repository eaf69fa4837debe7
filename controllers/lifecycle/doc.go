// Package lifecycle carries every claim through its life: launched, registered,
// initialized, and in the end removed.
//
//	claim, its Nodes ──► engine/lifecycle.Decide ──► Launch | Node write | conditions | delete
//
// One queue serves a claim from its creation to its end, so its launch and its
// removal (package termination) never run at the same time. The finalizer is on
// the claim before the cloud is asked for anything; the launch token is the
// claim's UID. A crash at any line therefore repeats a step that is safe to
// repeat, or leaves a machine that the claim, its finalizer or package gc finds.
package lifecycle
