// Package requirement is the algebra of label constraints: which values may the
// label of a node take, and can two such constraints hold at once.
//
// A [Requirement] is a set of values for one key, made of In, NotIn, Exists,
// DoesNotExist, Gt, Lt, Gte or Lte; a [Set] is a conjunction over keys. Pods
// (nodeSelector, node affinity), node pools, node claims, instance types and
// existing nodes all speak through it, so one intersection answers every
// question of fit:
//
//	pool := requirement.NewSet(requirement.Must("kubernetes.io/arch", requirement.In, "amd64", "arm64"))
//	pod := requirement.NewSet(requirement.Must("kubernetes.io/arch", requirement.In, "arm64"))
//	pool.And(pod) // kubernetes.io/arch In [arm64]
//
// Invariants: values are immutable; a set is sorted by key and its values are
// sorted, so equal sets print equally; And is commutative and associative;
// r.And(o).Has(v) == r.Has(v) && o.Has(v), and the same holds for Absent.
//
// The semantics are those of Karpenter's karpenter.sh/v1 requirements: bounds
// are inclusive integers, a value that is not an integer is outside any bound,
// and key aliases of the beta labels are normalised on construction.
package requirement
