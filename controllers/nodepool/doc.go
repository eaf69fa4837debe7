// Package nodepool keeps what a NodePool says about itself up to date.
//
// One reconciler walks a pool through named steps, each of which changes only
// the object in memory, and writes what came of it: first the annotations, then
// the status.
//
//	hash        stamps the template's hash, for drift, and re-stamps the pool's
//	            claims when the way to compute it has changed
//	validation  ValidationSucceeded
//	readiness   NodeClassReady, from the class's own Ready condition
//	health      NodeRegistrationHealthy, from the last four launches
//	count       status.resources and status.nodes
//	staff       launches and removes machines of a static pool (spec.replicas)
//	learn       UndeclaredStartupTaints, from what the nodes of its claims lost
//	backoff     LaunchesPaused, from the machines that failed in a row; they are
//	            kept in an annotation
//
// Names, reasons and the hash are Karpenter's. The launches behind the health
// condition need no report: they are read off the pool's claims, which either
// register or are given up.
package nodepool
