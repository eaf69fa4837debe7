// Package placement decides where pods go, at the lowest price: [Solve] reads a
// snapshot and returns a plan.
//
//	pending   which pods need a place
//	demand    what they are: one group for each kind of pod, made by the rules of
//	          Kubernetes, which are listed in demand/shape.go
//	supply    where they could go: machines that exist, machines to launch
//	topology/assign  which domain for pods with inter-pod constraints: topology spread,
//	          pod affinity and anti-affinity
//	          then, in this package:
//	          machines that exist, those with the least left first (existing.go)
//	          new machines, pools of the highest weight first (packing.go), packed at the
//	          lowest price (pack), written down as what a claim must demand (nodes.go,
//	          shortlist.go)
//	          again with those first that others kept out (refine.go), and with a price of
//	          what limits leave, where pods are left because of these (scarce.go)
//	          again on machines of one ratio of memory to CPU, where too many pods would have to
//	          be nominated (anyorder.go)
//	explain   for what is left: for each pool the constraints that are in the way,
//	          and the machine that a pod fails to get by the least
//
// What pods prefer (preferred node and pod affinity, ScheduleAnyway,
// PreferNoSchedule) is priced (prefer.go). A first plan follows no preference; a
// second one follows all, and is taken if it places as many pods and costs at most
// [Options.Preference] of the price of the pods that prefer something more. Else
// preferences are taken up one after the other, the heaviest of each kind of pod first.
// A plan names the preferences that it does not keep, as Relaxed. No price is paid for
// the spreads that kube-scheduler has by default for pods without any, but of machines
// at one price the plan takes those in the zone with the fewest.
//
// Priorities matter where something is scarce: room within limits, on nodes that
// exist, in reservations (priority.go). All pods are planned together at first. If
// that leaves a pod while pods of a lower priority have a place, and it would have
// one without them, then the pods from its priority on are planned for by
// themselves, and the others fill what is left, on their machines too.
//
// Rules that depend on little are packages of their own: affinity (labels), taints,
// volumes, topology. What is compared often is compiled to numbers first: amounts to
// vectors (vector), labels and taints to sets of launches (bitset).
//
// Of plans with as many pods placed the one counts that costs least, where each machine
// more has to save 2 % of what a machine costs on average (pack/draft.go): fewer machines
// are less to run. Each is in the zone where its pool has the fewest (shortlist.go).
//
// Invariants: a machine never gets more than it holds, nor a pod that it would
// repel; a pool's limits hold for the plan as it is and for every combination of
// the alternatives that it names; a reservation is drawn on by the machines that
// are counted on it, all pools together, and by no others; every pending pod is in the
// plan exactly once; equal snapshots give equal plans.
package placement
