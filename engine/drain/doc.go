// Package drain says, for one node that is to go away, what happens next: which
// pods leave now, which wait and why, which volumes are still attached, when the
// machine may be stopped, and when the finalizer may go.
//
//	View (node, claim, pods, budgets, attachments, deadline, now) ──► Next ──► Step
//
// The phases, each one over before the next begins:
//
//	Cordon     taint karpenter.sh/disrupted:NoSchedule, no load-balancer traffic
//	Drain      pods leave in waves: ordinary, ordinary daemons, critical, critical
//	           daemons; only one wave at a time
//	Detach     no VolumeAttachment of a pod that left may remain
//	Terminate  the cloud stops the machine, until it says that it is gone
//	Finish     the finalizer goes
//
// Pods leave through the eviction API. Pods that tolerate the taint and mirror
// pods stay until the machine goes; a pod that is a minute past its grace period
// is not waited for. A pod with do-not-disrupt is not evicted; it ends the wait
// by itself.
//
// A deadline (the claim's terminationGracePeriod) overrides budgets, waves and
// do-not-disrupt: a pod is deleted as much ahead of it as its own grace period
// asks for. Volumes are not waited for after it.
//
// Nothing is decided that does not follow from the view, so a crash between any
// two actions only repeats the step. Terminate and Finish cannot be undone:
// callers decide on them with a view read from the API server, not from a cache.
//
// Source of order, times and names: Karpenter v1.14.
package drain
