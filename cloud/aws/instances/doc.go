// Package instances asks EC2 about machines in batches, and remembers what it said.
//
//	Get, Terminate, List ──► one call for all that are asked for meanwhile ──► each its own answer
//	List, Get      ──► Known, from memory
//
// A question that comes while none is under way waits for [Config].Window, any other for the one
// that is; all who ask in that time share the next call. So n questions at once are n/200
// calls, n lists are one, and one alone is as fast as EC2.
//
// EC2 shows a new machine late. One that this process has just launched is pending until EC2
// knows it, for [Lag] at most: "not found" of such a machine says nothing.
package instances
