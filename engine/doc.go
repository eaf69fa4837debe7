// Package engine is the part of Millwright that decides. It contains no code of
// its own; this page is the map.
//
//	cluster ──► snapshot.Snapshot ──► decisions ──► plan words ──► controllers
//
//	requirement   which values may a label take: the algebra behind every question of fit
//	catalog       what a cloud sells: types, offerings, prices
//	snapshot      the whole input: one cluster at one instant, and the class of each pod
//	plan          the whole output: what to launch, where pods go, and the reasons
//	              for everything that is not done
//	placement     pods + snapshot -> plan, at the lowest price
//	lifecycle     launched -> registered -> initialized: what a machine waits for
//	disruption    which machines may go or be replaced, and why the others stay
//	static        pools that keep a fixed number of machines
//	eviction      who may be evicted
//	drain         for one node: which pod or volume goes next
//	enginetest    made-up clouds, random worlds, scenarios, invariants
//
// # Rules of the house
//
// A decision is a pure function of a snapshot. Nothing below this folder calls
// Kubernetes or a cloud, reads a clock, logs, counts metrics, or starts a
// goroutine that outlives the call; internal/archtest checks it. So the
// controller, a dry run on a laptop, the what-if of consolidation and the tests
// are all callers of the same functions, and the same snapshot gives the same
// answer, byte by byte.
//
// "No" is an answer: whatever is not done comes back as a plan.Reason. An error
// means that something broke.
//
// # Where to start reading
//
// snapshot/doc.go for what there is, placement/doc.go for the largest decision,
// and placement/testdata for what it comes to, in pictures.
package engine
