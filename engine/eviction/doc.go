// Package eviction knows which pods can be moved off a node, and what forbids it
// at present: the pod's state and owner, its tolerations, the do-not-disrupt
// annotation, and disruption budgets as the eviction API reads them; and the taint
// by which a node says that it is about to go.
//
// Everything here is a pure function of Kubernetes objects, and the one home of
// these questions: package disruption asks with them whether a node may go,
// package drain which pod leaves next, package snapshot for its pods.
package eviction
