// Package arrange decides in which domain pods go that mind who is near: in which
// zone each pod of a spread, of an affinity or of an anti-affinity.
//
//	observe.go   who is where already
//	arrange.go   the order: pods that are minded, pods that mind, pods that follow
//	domains.go   where a group could go at all, and at what price
//	divide.go    one domain for each pod
//	together.go  affinity over nodes: a group that has to be one thing
//	lessons.go   what a finished plan teaches the next round
//
// A pod that has its domain is bound to it by its labels, so that everything after
// this package knows nothing of topology but for rules over single nodes, which
// are tokens and counts in packing.
//
// Domains are given out before machines are bought. Where what is bought upsets
// them, for a limit, or for nodes that other pods bring into a zone, the round is
// repeated with what was learned; see [Lessons].
package arrange
