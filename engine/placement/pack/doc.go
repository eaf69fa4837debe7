// Package pack puts things into boxes at the lowest price. It knows numbers
// only: no pods, labels or clouds.
//
//	Problem ──► Solve ──► Solution
//	├── Items     so many of a kind: what each needs, and its family
//	├── Families  which models will do, and who cannot share a box
//	├── Models    boxes that can be bought: what they hold, the price, the pool
//	└── Pools     what may be bought of them at most
//
// The way to a low price: a linear program over a handful of resources says what
// each item is worth at least (bound.go, program.go, knapsack.go, bundle.go), which is
// also a price that no plan goes below. What a box holds only so many of counts as a resource,
// for the groups that take the most boxes (binding.go). Boxes are then filled so that what is in them is
// worth as much of their price as possible, always the model with the best share first
// (greedy.go, fill.go), each with its part of the small things that would otherwise
// be left for the end (sprinkle.go), and exchanged for the cheapest model that holds
// their content (downsize.go). Things of few kinds are packed once more by whole contents
// of boxes, as in cutting stock (patterns.go, search.go); the better solution counts.
//
// A box counts more than its price, as it is a machine more to run: by a fee, which is a
// share of what boxes cost on average when things are packed by price alone (draft.go).
// So half as many boxes may cost 1 % more, and of boxes that do as well for their price
// the largest is bought.
//
// Everything is deterministic: ties end in indices, and there is one goroutine.
package pack
