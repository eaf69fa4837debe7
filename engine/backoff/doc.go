// Package backoff keeps a pool from launching again and again what has failed
// before.
//
//	claims that failed or got ready ──► Count ──► []snapshot.Failure (on the NodePool)
//	failures, policy, now ──► Pauses ──► what is not launched until when
//
// Failures are machines that were given up because they did not launch, register
// or initialize in time. They are counted in a row: per template of the pool, and
// per offering of the pool. What failed as often as the policy allows is paused,
// for twice as long with each further failure. When a pause of a template is
// over, the pool is on trial: one machine at a time, until one gets ready. A new
// template starts with a clean slate, and other pools are never concerned.
package backoff
