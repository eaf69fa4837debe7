// Package disruption decides which machines may be taken away, and says for
// every other machine why it stays.
//
//	snapshot ──► Decide ──► Decision
//	                        ├── Commands    machines to remove, and the next step of each
//	                        ├── Rollbacks   machines marked for a removal that is off
//	                        ├── Verdicts    exactly one for every machine of the snapshot
//	                        ├── Allowances  what the budgets permit, per pool and cause
//	                        └── Recheck     when time alone may change the answer
//
// A command has two steps, and both are read off the objects, so that a restart
// continues it. Mark puts the karpenter.sh/disrupted taint on the node and the
// DisruptionReason condition on the claim. Remove deletes the claim, once the
// mark is old enough that every pod that kube-scheduler had already decided to
// put there has shown up. Whatever happens in between (a pod, a do-not-disrupt
// annotation, a budget that closes) turns the next answer into a rollback.
//
// Rules, one small function each (rules.go), are asked in a fixed order and the
// first "no" is the verdict; budgets (budget.go) are asked last, over the pool.
// The only cause so far is Empty.
//
// Nominations are not remembered, they are derived: a machine is nominated for a
// pending pod as long as placement, asked about this very snapshot, counts on
// the machine for that pod. When the pod is bound, gone, or better off
// elsewhere, the nomination is over, and also when kube-scheduler has not put
// the pod there for the time of a lease (engine/nomination).
//
// Invariants: the same snapshot gives the same decision; a machine is in at most
// one command; commands never exceed a budget that is open now; a machine that
// is being deleted is in no command and no rollback.
package disruption
