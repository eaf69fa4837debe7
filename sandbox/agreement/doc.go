// Package agreement asks kube-scheduler what it thinks of a plan: would it bind
// every pod where the plan has it, and does it know no place for those that the
// plan leaves out?
//
// The filters are kube-scheduler's own, those of its default profile, run in this
// process over stores that are filled by hand ([Scheduler]). A snapshot and its
// plan become the cluster that they come to ([Outcome]): the machines that are
// there and those that the plan launches, with their labels, taints, amounts,
// attach limits and DaemonSets. Pods pass through the API server's own defaults.
//
// What kube-scheduler accepts may depend on who is bound before whom. A plan is
// right if there is an order; see [Judge]. [Shrink] makes a story small that goes
// wrong.
package agreement
