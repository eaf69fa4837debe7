// Package nomination decides which pending pods name the node that the plan
// counts on for them, in status.nominatedNodeName.
//
//	snapshot (Nominated: pod -> machine of the latest plan)
//	    │
//	    └─► Decide ──► Changes: nominate, move or clear, the most important first
//
// kube-scheduler tries a pod's nominated node first, and keeps room there for
// the pods that are nominated to it against others of their priority or less.
// Without that it fills machines by its own scoring: small pods take the room
// that was planned for large ones, and what no longer fits needs a machine more.
//
// A nomination is a lease of one pod on one node, and everything about it can be
// read off the objects. It begins when the Node of a machine that the plan
// counts on is there. It ends when the pod is bound or gone; when the node is
// leaving, or gone; when the plan counts on another machine; and when
// kube-scheduler has had ample time to put the pod on a node that is complete,
// and has not ([Until]). That is a disagreement, which is noted on the pod with
// kube-scheduler's words (disagreement.go): from then on it is planned elsewhere. A
// nomination that has ended so stays until that is noted, as the note is made from it.
//
// kube-scheduler nominates as well: to a node on which it makes room by
// preemption, and to the node to which it is about to bind. Those are never
// touched ([Foreign]). It also takes any nomination away when it has tried the
// pod in vain; the next decision renews ours.
//
// Pods that a required spread counts are nominated to a node in turn (turn.go), and where
// several workloads with such spreads share machines, so are they (workload.go).
//
// A nomination cannot promise a place. Where the policy of a pool demands it, its Nodes take
// first, by a taint that only those tolerate, the pods that they were launched for (first.go).
// Those are not nominated: they have nowhere else to go.
//
// A node that took pods before those planned for it are nominated would be filled
// with others, and so would one that began to take pods after others of its plan, as
// kube-scheduler has then forgotten its nominations. So registration waits for both,
// for a moment ([HoldOf]). A pod that loses its place all the same gets a machine of
// its own only when kube-scheduler has come to rest ([Plan]).
package nomination
