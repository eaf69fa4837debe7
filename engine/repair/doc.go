// Package repair decides what is done about machines that are broken.
//
//	snapshot, provider's conditions ──► Decide ──► Decision
//	                                     ├── Verdicts   one for every machine that something is wrong with
//	                                     ├── Commands   what is to be done now
//	                                     ├── Blocks     pools whose repair is stopped, and why
//	                                     └── Recheck    when time alone changes the answer
//
// A [Finding] is a condition of a Node that means harm, or an agent of a DaemonSet
// that crashes again and again there. It is tolerated for a while, and then its
// action is due: Alert, Replace or Terminate. Before a machine is repaired, it is
// asked, in this order, whether
//
//	unhealthy machines of the pool  ≤ maxUnhealthy     the breaker, as in Karpenter
//	no zone, image or condition has failed as a whole   the breaker on what they share
//	machines under repair           < budget
//	healthy machines of the pool    ≥ minHealthy       if it is terminated
//
// and the first "no" is its verdict. Machines that fail have their turn by when
// their action became due.
//
// Terminate deletes the claim with a deadline that is now. Replace asks package
// disruption for it (disruption.Request), which launches what the pods need and
// deletes the claim when that is ready; the drain then has a deadline. A machine
// for which there is no replacement in time is terminated.
//
// Nothing is remembered but two annotations of claims: the request, and since when
// each finding is there.
//
// Invariants: the same snapshot gives the same decision; no machine without a
// finding is touched; while a breaker is open nothing begins in its reach, and
// what has not removed its machine yet is taken back; at most budget machines of a
// pool are under repair.
package repair
