// Package disruption decides which machines may be taken away or replaced, and
// says for every other machine why it stays.
//
//	snapshot ──► Decide ──► Decision
//	                        ├── Commands    machines that go, and the next step of each command
//	                        ├── Rollbacks   machines marked for a command that is off
//	                        ├── Verdicts    exactly one for every machine of the snapshot
//	                        ├── Allowances  what the budgets permit, per pool and cause
//	                        └── Recheck     when time alone may change the answer
//
// There are four causes: Empty, Expired, Drifted (package drift) and Underutilized
// (package consolidate). Others can ask for a replacement as well, by a Request on a
// claim, for an urgent cause (urgent.go). There is one way to go for all of them:
//
//	Mark ─► Settle ─► Launch ─► Await ─► Remove
//
// Mark puts the karpenter.sh/disrupted taint on the nodes, and on their claims the
// DisruptionReason condition and a Progress (progress.go). After a moment every
// pod that kube-scheduler had already decided to put there has shown up, and it is
// known what the pods that run there need: that is launched, if it is more than
// the room that others have, and awaited. Remove deletes the claims. A command
// without replacements goes from Settle to Remove.
//
// A Request is written on the claim, as RequestAnnotation, and holds for as long as it
// is there; taking it off calls the replacement off:
//
//	disruption.Request{
//		Cause: disruption.Interrupted, At: now, Why: "spot reclaim",
//		Deadline: reclaimed.Add(-30 * time.Second), // then the machine goes without a replacement
//		Ends:     reclaimed,                        // its pods' last moment in that case
//		Budgeted: false,                            // true: freeze, windows and budgets hold it back
//	}.String()
//
// Pods do not hold it back; the drain respects what protects them as ever.
//
// Nothing is remembered: the step is read off the objects, so that a restart
// continues it, and at every step the command is judged anew on the snapshot as it
// is now. Whatever has happened in between (a pod that is protected, a budget that
// closes, a replacement that failed or costs more than promised) turns the
// answer into a rollback, and a replacement that failed into a rest for its pool
// that doubles each time.
//
// Rules, one small function each (rules.go), are asked in a fixed order and the
// first "no" is the verdict; budgets (budget.go) are asked last, over the pool. What
// becomes of pods is asked of placement, about forks of the snapshot (package
// whatif). What a move of pods has to save is one amount
// of dollars (package consolidate), which is higher where moves were undone lately (package
// churnlog).
//
// All budgets, those of pools and those of policies, are one account (account.go). Commands
// that have begun are taken further or called off (underway.go); vacant machines and those
// to be replaced begin (begin.go), then what is worth the move (consolidation.go). Each
// writes verdicts (decide.go).
//
// Nominations are not remembered, they are derived: a machine is nominated for a
// pending pod as long as placement, asked about this very snapshot, counts on
// the machine for that pod. When the pod is bound, gone, or better off
// elsewhere, the nomination is over, and also when kube-scheduler has not put
// the pod there for the time of a lease (engine/nomination). It holds drift and expiry
// back from beginning, for ten minutes at most. While pods wait for some of the machines that
// were launched for them, none of these with pods is consolidated, for six minutes at most.
//
// Invariants: the same snapshot gives the same decision; a machine is in at most
// one command; commands never exceed a budget that is open now, and one whose
// budget closes is rolled back unless a machine of it is being deleted already; a
// machine that is being deleted is in no command and no rollback.
package disruption
