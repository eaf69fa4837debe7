// Package disruption carries out what engine/disruption decides, and keeps on
// the claims what it decides by.
//
//	pass: Store ─► disruption.Decide ─┬► rollbacks   take marks off
//	                                  ├► commands    mark, launch replacements, remove after a last live look
//	                                  ├► conditions  Consolidatable, Drifted
//	                                  └► events      DisruptionBlocked, DisruptionLaunching, DisruptionTerminating
//	pods ─► pod events ─► status.lastPodEventTime
//
// A pass only ever does the next step of a command, never waits for one, and
// keeps nothing in memory that the next pass needs: how far a command has come
// is written on its nodes (the karpenter.sh/disrupted taint) and claims
// (DisruptionReason, and the annotation millwright.dev/disruption). The names of
// replacements follow from the command. A process that is cut off at any line is
// continued, or rolled back, by the next pass of the leader.
//
// Between the marking and the removal kube-scheduler has seen the taint. The
// last look before the removal reads the node, the claim and the node's pods
// from the API server itself; a pod that was bound in between saves the node.
package disruption
