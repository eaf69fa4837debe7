// Package assign assigns pods with inter-pod constraints to topology domains: in which
// zone each pod of a spread, of an affinity or of an anti-affinity.
//
//	counter.go     how many pods are in each domain: those that run, those of a plan
//	domains.go     where a group could go at all, and at what cost
//	bind.go        a group that may go to some domains only, or nowhere
//	colocation.go  affinity over nodes: groups that share nodes, planned as one
//	observe.go     what is known before domains are assigned
//	assign.go      the order: pods that were kept out, pods that rules select, pods that
//	               declare rules
//	assignment.go  cells for each pod: a domain for each label of its rules
//	pick.go        the cell for one more pod
//	cuts.go        verify a plan, and constrain the next by what it breaks
//
// A pod that has its domain is bound to it by its labels, so that everything after
// this package knows nothing of topology but for rules over single nodes, which
// are tokens and counts in packing. Pods get their domains one after the other, in
// an order in which kube-scheduler could bind them.
//
// Domains are given out before machines are launched. Where what is launched upsets
// them, for a limit, or for nodes that other pods bring into a zone, the round is
// repeated with what was learned; see [Cuts].
//
// A preferred rule chooses among the cells that the required ones leave open, as
// long as the cell costs little more than the cheapest; see package placement.
//
// Limits: pods that lead others on a node take one unit each; pods that no machine
// holds beside their leader are refused, though another leader may have room. Where kinds of pods
// compete for nodes that cannot grow, each by rules about the other, another
// arrangement may place more of them.
package assign
