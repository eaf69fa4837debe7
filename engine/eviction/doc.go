// Package eviction knows which pods can be moved off a node, and what forbids it
// at present: the pod's state and owner, its tolerations, the do-not-disrupt
// annotation, and disruption budgets as the eviction API reads them.
//
// Everything here is a pure function of Kubernetes objects. Package drain decides
// with it which pod leaves next.
package eviction
