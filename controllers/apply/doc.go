// Package apply is the only package that writes to Kubernetes.
//
//	controller ──► Writer ──► API (create, patch, delete, evict) ──► Kubernetes
//	                  └─────► cluster.Store, with the server's answer
//
// A write is made of what was read and a function that changes a copy of it:
//
//	node, err = w.Node(ctx, node, func(n *corev1.Node) { ... })
//
// The [Writer] sends only the difference, and only if the object is still the
// one that was read (optimistic lock on its resource version). A write that is
// built on an old state therefore fails with a conflict, which controllers
// answer by looking again; a taint that was removed in between can never
// come back. No difference means no request.
//
// The server's answer goes into the store before the call returns, so nothing
// has to wait for a watch to see what it wrote. Deletions and evictions have no
// answer: who asked for one looks again rather than go on with what it knew.
//
// Every request passes through [API], one small interface, so that a test can
// cut the process off before or after the k-th write.
//
// [Writer.Event] records Kubernetes events under Karpenter's reasons, each at
// most once within its window.
package apply
