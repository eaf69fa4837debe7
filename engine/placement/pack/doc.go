// Package pack is variable-sized vector bin packing: items of several dimensions into
// boxes of several models at the lowest price. It knows numbers only: no pods, labels or
// clouds.
//
//	Problem ──► Solve ──► Solution
//	├── Items     a number of equal things: what each needs, and its family
//	├── Families  which models will do, and who cannot share a box
//	├── Models    boxes that can be bought: what they hold, the price
//	└── Limits    what may be bought of them at most
//
// In order:
//
//	binding.go                 groups of which a box holds only so many, as dimensions
//	instance.go                the problem as vectors
//	bound.go, program.go       linear relaxation by column generation: dual prices, which
//	                           are a lower bound, and what each item is worth (bundle.go:
//	                           aggregation; simplex: the restricted master; knapsack.go:
//	                           pricing; leads.go: dominance)
//	greedy.go, fill.go         box by box, always the model whose best content is worth
//	                           most of its price (lanes.go: candidates; score.go: the next
//	                           item; sprinkle.go: seed of small items; draft.go: the fee)
//	patterns.go, search.go     cutting stock for items of few kinds: column generation
//	                           over whole contents, priced by branch and bound
//	classes.go                 the same where kinds are many by their rules alone, and the plan
//	                           costs much more than the bound
//	reprice.go                 else greedy by prices for what is left, where places in groups bind or models are few
//	downsize.go                the cheapest model that holds a box's content
//	recreate.go                ruin and recreate of the boxes that waste most, of small packings
//	vacate.go                  content of expensive boxes into room that cheaper ones have left
//	floor.go                   the bound, with what follows from boxes being whole
//	contents.go                the same for whole contents of things of few kinds
//
// Each box costs a fee beyond its price, 2 % of an average box (draft.go): half as many
// boxes may cost 1 % more, and of boxes that do as well for their price the largest is
// bought.
//
// Everything is deterministic: ties end in indices, and there is one goroutine.
package pack
