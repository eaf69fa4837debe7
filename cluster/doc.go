// Package cluster keeps what is known of one Kubernetes cluster and hands it to
// the engine as a [snapshot.Snapshot].
//
//	watches ──► Watch ──┐
//	own writes (apply) ─┼──► Store.Update / Delete ──► Store.Snapshot ──► engine
//	files (plan -f) ────┘
//
// The [Store] is the only shared mutable state of the process. It translates
// Karpenter's NodePools and NodeClaims into the engine's values, joins claims
// and Nodes into machines, binds pods to machines and keeps every list in its
// total order. An update costs work in proportion to what changed; a snapshot
// shares everything that did not change with the one before.
//
// Reading own writes needs no waiting: a write puts the server's
// answer into the store at once, and a later event with an older
// resource version is ignored.
//
// Three rules decide what a snapshot shows (facts of Karpenter v1.14):
//
//   - A claim and a Node are one machine if they carry the same provider ID; a
//     claim that knows only its node's name is joined by that name, unless the
//     provider IDs contradict each other. Further Nodes with the same provider
//     ID stand alone.
//   - A Node of a pool that has no provider ID and no claim is left out: its
//     claim already stands for the machine.
//   - Pending pods are those that a scheduler has given up on for lack of a
//     node: condition PodScheduled is False with reason Unschedulable, no node,
//     not of a DaemonSet, not a mirror pod. They may be nominated to a node; why,
//     is for the engine to say.
//
// [Options.Offline] relaxes the rules for objects that no controller has
// touched, as in a file of manifests.
package cluster
