// Package lifecycle says how a claim becomes a working node: launched →
// registered → initialized.
//
//	View (claim, its Nodes, policy, now) ──► Decide ──► Step
//
// [Decide] is a pure function; the controller carries the [Step] out and calls it
// again when something has changed. A step is one of
//
//   - Launch: the choices to ask the cloud for, best first;
//   - a change to the Node, which takes it over (registration) or marks it as
//     ready for work (initialization), in one write that is safe to repeat;
//   - Delete: give the machine up, with the reason; for a Node that is lost only
//     after a look at the API server itself;
//   - nothing but conditions: wait, at the latest until Wake.
//
// Everything the machine has passed and still has to pass is listed as [Gate]s,
// in order, with the reason and the time since when a closed one is closed.
// Conditions of the claim are made from the first closed gate, so the claim, the
// command line and the metrics say the same.
//
// The handshake with the kubelet: a machine joins with the taint
// karpenter.sh/unregistered, so that nothing runs on it before it carries the
// claim's taints. Registration adds labels, annotations, the finalizer and the
// owner, removes that taint and sets karpenter.sh/registered, all in one write. By
// policy a taint takes its place that leaves the Node to the pods that it was launched
// for until they are bound.
//
// Taints belong to those who put them there. The machine joins with the taints of
// its claim, because its launch asked for them; one that is missing when the Node
// is taken over was removed with the right to do so, and is not put
// back. Only a machine that joined without the handshake, or that is known to
// join bare ([JoinsBareAnnotation]), gets them at registration. Every write of
// taints is bound to the state of the Node that was read, since the API keeps
// them as one atomic list, which no two writers can own parts of.
//
// Gates of our own, behind Karpenter's: the CSI drivers that the Node's pods need,
// and by policy conditions of the Node and DaemonSets. What the policy
// ([snapshot.Initialization]) makes of a gate that stays closed is its Next: who
// has to open it, and what happens when that person has not until when. A
// condition is Unknown while a gate may open by itself, False once it is overdue.
//
// Invariants: steps are functions of what is on the objects, so a crash between
// any two writes only repeats the step; Initialized is never set while a gate is
// closed; the conditions move Launched, Registered, Initialized and never back.
//
// Source of names, order and times: Karpenter v1.14 (launch within 5 minutes,
// registration within 15; it has no limit for initialization).
package lifecycle
