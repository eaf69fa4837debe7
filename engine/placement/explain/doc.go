// Package explain says why no pool has a machine for a pod: for each pool the
// constraints that are in the way, and the machine that the pod fails to get by
// the least.
//
// Every instance type of a pool's class, bought in every way, is a row, whether the
// pool allows it or not. A row fails some constraints: the pod's (labels, volumes,
// amounts, ports, pod topology, taints that it does not tolerate) and the pool's
// (requirements, limits, what is on sale). A pod has no machine in a pool when every
// row fails something. Then
//
//   - the constraints that are told are a set of which every row fails at least one.
//     None of them can be left out, and if they are at most four, no smaller set
//     does the same. Among equals come first what the pool does to itself, then what
//     no pool could satisfy; see preference in constraint.go;
//   - the nearest miss is a row that fails as few constraints as any, all of which
//     are its changes: with them made and nothing else, the pod, by itself, fits.
//     Among equals comes first what is easiest to change, then what lacks least,
//     then the lowest price.
//
// So where one constraint is told and the nearest miss has one change, they are the
// same constraint, and it is all that is wrong.
//
// Limits and pod topology are as the plan leaves them: with its machines launched and its
// pods where it puts them. The price is that of sets of bits: constraints divide the
// rows into cells that fail the same ones, and everything else looks at cells.
//
//	shelf.go       the rows of a class, and a pool over them
//	wish.go        what a pod asks of a node's labels, and where it says so
//	constraint.go  the constraints of a pod and a pool, as sets of rows
//	cells.go       rows that fail the same constraints, and the smallest set that every row fails
//	nearest.go     the row that fails the least
//	floors.go      where single rows would do, and minValues demand several
//	typo.go        what may have been meant
//	explain.go     all of it together, as reasons
package explain
