// Package topology is the rules about who else is near: topology spread, pod
// affinity and pod anti-affinity, required and preferred.
//
//	rule.go    whom a rule is about (namespaces and selectors), and over which
//	           domains: the values of a node label
//	read.go    the rules that a pod states
//	ledger.go  who is where, and which domains are open for one more pod
//
// What a rule says follows kube-scheduler, also where that is less than obvious:
// a spread counts no pod that is on its way out, nobody at all if its selector is
// empty, and only nodes that carry the labels of all of the pod's required
// spreads; the affinity terms of a pod are met by pods that match all of them;
// and anti-affinity holds both ways.
package topology
