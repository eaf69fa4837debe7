// Package placement decides where pods go, at the lowest price: [Solve] reads a
// snapshot and returns a plan.
//
//	pending   which pods need a place
//	demand    what they are: one group for each kind of pod, made by the rules of
//	          Kubernetes, which are listed in demand/shape.go
//	supply    where they could go: machines that exist, machines to launch; and why
//	          none of a pool's would do
//	arrange   which domain for pods that mind who is near
//	          then, in this package:
//	          machines that exist, the fullest first (existing.go)
//	          new machines, pools of the highest weight first (tier.go), packed at the
//	          lowest price (pack), written down as what a claim must demand (nodes.go,
//	          shortlist.go)
//	          reasons for what is left (explain.go)
//
// Rules that depend on little are packages of their own: affinity (labels), taints,
// ports, volumes, topology. Everything that is compared often is compiled to
// numbers first: amounts to vectors (vector), labels and taints to sets of launches
// (bitset).
//
// Invariants: a machine never gets more than it holds, nor a pod that it would
// repel; a pool's limits hold for the plan as it is and for every combination of
// the alternatives that it names; every pending pod is in the plan exactly once;
// equal snapshots give equal plans.
package placement
