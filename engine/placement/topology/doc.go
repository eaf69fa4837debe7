// Package topology is the inter-pod constraints: topology spread, pod affinity and pod
// anti-affinity, required and preferred.
//
//	rule.go    which pods a rule selects (namespaces and selectors), and over which
//	           domains: the values of a node label
//	read.go    the rules that a pod states
//	counts.go  who is where, and which domains are open for one more pod
//
// What a rule says follows kube-scheduler, also where that is less than obvious:
// a spread counts no pod that is on its way out, none at all if its selector is
// empty, and only nodes that carry the labels of all of the pod's required
// spreads; the affinity terms of a pod are met by pods that match all of them;
// and anti-affinity holds both ways.
package topology
