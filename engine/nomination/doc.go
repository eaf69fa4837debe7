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
// touched ([Foreign]). It also takes the nomination of a pod away when it finds no
// node for it; the next decision renews ours.
//
// A nomination is written only where kube-scheduler's own choice could break the plan. Let
// contending classes be those that may use machines of the same pools. One kind of them, c, which
// request the same and may use the same machines, needs none if the pods of all others are bound or
// nominated: the machines then have room for
//
//	Σ slots(n) ≥ pods(c)
//
// and these pods take slots in any order (needs.go has the conditions). Nor do several
// classes if one resource is the scarcest on every machine and some of it is left, or the pods
// are very many (order.go). Where they are few, all are nominated to Nodes that take none yet, so
// that none loses its place to one that comes later.
//
// Pods that a required spread counts are nominated to a node in turn (turn.go).
// A nomination cannot promise a place. Where the policy of a pool demands it, its Nodes take
// first, by a taint that only those tolerate, the pods that they were launched for (first.go).
// Those are not nominated: they have nowhere else to go.
//
// A node that took pods before those planned for it are nominated would be filled with
// others. So registration waits until the node is ready, then for the nominations ([Holds]): for
// those to the node, for those to others that were launched with it and contend for the same
// pods, and a moment for such a one that is not ready. Each node that opens has kube-scheduler
// try all pods that wait, and it forgets the nominations of those whose node does not take pods
// yet. So it does when it tries new pods of a large burst for the first time, which takes longer
// the more pods are nominated, as it copies those that are nominated to each node that it looks
// at. Until it has tried all, none are nominated to nodes that are not ready, nor are they once
// others that were launched with these take pods. A pod that loses
// its place is planned again with all others. What that costs is bounded by a test in a model of
// kube-scheduler (follow_test.go).
package nomination
