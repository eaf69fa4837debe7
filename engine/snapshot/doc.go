// Package snapshot is the engine's whole input: an immutable picture of one
// cluster at one instant.
//
//	Snapshot
//	├── Pools        what may be launched, each with the instance types it can use
//	├── Nodes        machines: a claim, a Node object, or both joined, with their pods
//	├── Pending      pods without a node
//	├── Untried      pods that kube-scheduler has not come to yet
//	├── DaemonSets   what every new machine will have to carry
//	├── PDBs         who may be evicted
//	├── Volumes      claims, volumes, classes, attachments
//	└── Now          the only clock
//
// cluster.Store builds one from watches, and from a file of plain Kubernetes
// objects; tests build one by hand. Everything in it is read-only: decisions
// that need a different world take a [Snapshot.Fork], which shares all that it
// does not change.
//
// Invariants: slices are in a total order (by name, or namespace and name), so
// that equal clusters give equal snapshots whatever order the objects came in;
// a machine appears once, whether its claim, its Node or both are known.
package snapshot
