// Package backoff keeps a pool from launching again and again what has failed
// before.
//
//	claims that failed or got ready ──► Count ──► []snapshot.Failure (on the NodePool)
//	pool with failures, now ──► Pauses ──► what is not launched until when
//
// Failures are machines that were given up, or retained without pods, because they did not launch,
// register or initialize in time, or that the cloud ended before they registered. They are counted
// in a row: per template of the pool, per image and per offering of that template. What failed as
// often as the policy allows is paused, for twice as long with each further failure.
//
// Who is to blame? A template, when its machines failed whatever image they had,
// or when it has only one. When all of them had one image and the pool can be had
// with another, only that image pauses and machines with another one take its
// place.
//
// Machines that get ready and are not used by the workload that they were launched for
// (its pods are refused, preempted, displaced, kept off by a taint) count as well, for that
// workload, each round of launches once (unused.go):
//
//	snapshot, plan ──► FindUnused ──► on the claims ──► Count ──► []snapshot.Failure
//	pools with failures ──► PauseWorkloads ──► pods with a class that names the pools
//
// From the first such round on, one machine at a time is launched for the workload; after
// as many as the policy allows there is a pause, which doubles. With the default policy
// that is at most five machines in ten minutes. The workload is served without limit while a
// pod of it has been on a machine launched since for thirty seconds, and what has been counted
// is forgotten when one has for ten minutes or has succeeded there.
//
// When a pause is over, what failed is on trial: one machine at a time, until one
// gets ready. A new template starts with a clean slate, a new image does as well,
// and other pools are never concerned.
package backoff
