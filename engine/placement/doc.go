// Package placement decides where pods go, at the lowest price: [Solve] reads a
// snapshot and returns a plan.
//
//	pending pods ─► shapes and needs     one group for each kind of pod (batch.go)
//	             ─► rules                what Kubernetes demands (shape.go: the registry)
//	             ─► machines that exist  the fullest first (existing.go)
//	             ─► new machines         pools of the highest weight first (tier.go),
//	                                     packed at the lowest price (pack)
//	             ─► reasons              for what is left (explain.go)
//
// Rules that depend on little live in packages of their own: affinity (labels),
// taints, ports, volumes. Everything that is compared often is compiled to
// numbers first: amounts to vectors, labels and taints to sets of launches, a
// launch being a type of a pool bought through one offering.
//
// Invariants: a machine never gets more than it holds, nor a pod that it would
// repel; a pool's limits hold for the plan as it is and for every combination of
// the alternatives that it names; every pending pod is in the plan exactly once;
// equal snapshots give equal plans.
package placement
