// Package bench compares placement with Karpenter's scheduler: the same pods,
// the same pools and the same catalogue, in one process and one run.
//
//	workload   the registry: named, seeded sets of pods and pools
//	fleet      the catalogues that both engines choose from
//	karpenter  Karpenter's scheduler as an [Engine], used as a library
//	millwright ours as an [Engine]
//	offer      every machine that a pool could buy, as the node it would become
//	check      is a plan right? an opinion that belongs to neither engine
//	bound      no plan can cost less than this
//	measure    seconds, CPU seconds, allocations and peak heap of one call
//	report     the table
//	cluster    whole controllers, in turns, in a sandbox
//	consolidation  disruption beside Karpenter's consolidation, from the same clusters
//	cmd/bench  runs it all
//
// A [Problem] is what both engines get and an [Outcome] what both are judged
// by. Five rules keep the comparison fair:
//
//   - An engine's preparation holds only what a running controller has ready before
//     a batch arrives, and what both keep is the same: the pools, and the instance
//     types in the engine's own form (Karpenter's providers cache theirs, with
//     requirement sets, prices and allocatable amounts worked out once; ours are
//     sorted by price, with columns by label and allocatable amounts).
//   - Nothing that depends on a pool and a type, or on a pod, outlives a solve:
//     Karpenter makes a new scheduler each time, which asks for every pool which
//     types it leaves, and so does placement.
//   - Everything else, from plain pods to a finished plan, is timed.
//   - A plan is priced by the catalogue, each machine as the cheapest offering that
//     the plan allows.
//   - A plan that check refuses is shown as wrong, whatever its price.
package bench
