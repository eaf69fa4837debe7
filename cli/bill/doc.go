// Package bill says what the machines of a cluster cost: today, when nothing more would be
// done about them, and at the least.
//
//	objects, store ──► Of ──► Bill: by pool, with the evictions until then
//
// Nothing is decided here. Of asks placement and disruption again and again, as the
// controller does, and has their answers come true in a copy of the cluster: machines come
// within a minute, evicted pods are where the decision expected them. Time goes on to when
// the engine wants to look again, for a week at most.
package bill
