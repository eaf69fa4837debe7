// Package drain says, for one node that is to go away, what happens next: which
// pods leave now, which wait and why, which volumes are still attached, when the
// machine may be stopped, and when the finalizer may go.
//
//	View (node, claim, pods, budgets, volumes, machine, deadline, now) ──► Next ──► Step
//
// The phases, each one over before the next begins:
//
//	Cordon     taint karpenter.sh/disrupted:NoSchedule, no load-balancer traffic
//	PreDrain   hooks of the policy: an annotation or condition of the node, or a Job
//	Drain      pods leave in waves: ordinary, ordinary daemons, critical, critical
//	           daemons; only one wave at a time
//	Detach     every volume of a pod that left is detached
//	PreTerminate  hooks of the policy once more
//	Terminate  the cloud stops the machine, until it says that it is gone
//	Release    a machine that is gone, or stopped, still holds volumes or pods: its
//	           Node is marked out of service, and Kubernetes lets go of them
//	Finish     the finalizer goes
//
// Pods leave through the eviction API. Pods that tolerate the taint, mirror pods
// and the node's own agents stay until the machine goes. Agents are told by what
// they are (agents.go): the node plugin of a CSI driver is needed to unmount
// volumes, the agent of the network to reach anything at all, and neither has to
// know our taint. A pod with do-not-disrupt is not evicted; it ends the wait by
// itself. A pod that is a minute past its grace period is not waited for; one that
// has ended and is kept by a finalizer is.
//
// A volume moves through states, each with a time within which it must be over:
//
//	in use ──► mounted ──► unmounted ──► detaching ──► gone
//	   └──────────┴────────────┴─────────────┴──► stuck
//
// One that was never attached is attaching instead of unmounted. Nothing can have written
// to it, and kube-controller-manager keeps at it for minutes: when its time is over, the end
// of the machine releases it.
//
// A stuck volume is a report, not a permission: the machine stays until it is
// detached, unless a deadline or the policy says otherwise, or no kubelet answers
// that could unmount it. Then the step lists what is left behind.
//
// A deadline (the claim's terminationGracePeriod) overrides budgets, waves and
// do-not-disrupt: a pod is deleted as much ahead of it as its own grace period
// asks for. Nothing is waited for after it. A claim may also say that do-not-disrupt
// or budgets do not count from the beginning (see [Ignores]), as the policy for an
// interruption may want.
//
// A wait without a known end is never silent: its reason names the
// objects, and has a remedy (plan.Reason.Remedy).
//
// Nothing is decided that does not follow from the view, so a crash between any
// two actions only repeats the step. Terminate and Finish cannot be undone:
// callers decide on them with a view read from the API server, not from a cache.
// Release is only for machines that the cloud has confirmed to run no more:
// anything else would corrupt volumes.
//
// Source of order, times and names: Karpenter v1.14. Ours are the agents, the
// states of volumes, Release, and that finalizers are waited for.
package drain
