package plan

// Why a machine is taken away or stays: the verdicts of package disruption.
const (
	// Disrupting: the machine is part of a command; Want is the cause.
	Disrupting Code = "Disrupting"
	// BeingDeleted: the claim, the Node or the instance is already going.
	BeingDeleted Code = "BeingDeleted"
	// NotOurs: the machine has no claim.
	NotOurs Code = "NotOurs"
	// NotInitialized: the claim still waits; Want is the condition that is not
	// true, Have its reason.
	NotInitialized Code = "NotInitialized"
	// Standalone: the claim was made by hand and belongs to no pool.
	Standalone Code = "Standalone"
	// PoolMissing: the claim's pool does not exist; the pool is the first object.
	PoolMissing Code = "PoolMissing"
	// StaticPool: the pool keeps a fixed number of machines.
	StaticPool Code = "StaticPool"
	// InstanceShared: another Node, the first object, has the machine's provider ID, and a
	// pod, the second, runs there that would have to leave with the instance.
	InstanceShared Code = "InstanceShared"
	// DoNotDisrupt: the annotation on the first object (Node, NodeClaim or Pod)
	// forbids it; Have is its value.
	DoNotDisrupt Code = "DoNotDisrupt"
	// Nominated: a pod that is pending, or whose node is leaving, the first object, counts on
	// the machine, or on the second object, which was launched with it.
	Nominated Code = "Nominated"
	// ConsolidationOff: the pool's consolidateAfter is Never.
	ConsolidationOff Code = "ConsolidationOff"
	// HasPods: pods that would have to move run there; Have is how many, the
	// objects are the first few.
	HasPods Code = "HasPods"
	// HasBuffers: no such pods run there, but it has the room of capacity buffers, the
	// objects; Have is how many chunks.
	HasBuffers Code = "HasBuffers"
	// PDBBlocks: the first object is a pod that the PDBs after it guard.
	PDBBlocks Code = "PDBBlocks"
	// ConsolidateAfter: the machine has not been quiet for long enough; Want is the
	// pool's consolidateAfter, Since when it began to count.
	ConsolidateAfter Code = "ConsolidateAfter"
	// Starved: pods come and go so often that the machine is not quiet for the pool's
	// consolidateAfter, Want: every Have on average, Total of them since Since. It waits
	// until Until at the latest; if Field is "empty", it is, and goes then if no pod comes
	// before. The first object is the pool.
	Starved Code = "Starved"
	// BudgetExhausted: the pool's budgets permit no further disruption; Want is the
	// budget that decided, Have the count, Total how many it allows, Until when it opens.
	BudgetExhausted Code = "BudgetExhausted"
	// BudgetInvalid: a budget of the pool cannot be read, so all are shut; Have
	// says what is wrong.
	BudgetInvalid Code = "BudgetInvalid"
	// PodFitsNowhere: the first object is a pod that would find no other machine; Have is why
	// the machine's own pool launches none, if it launches nothing.
	PodFitsNowhere Code = "PodFitsNowhere"
	// RoomKept: its pods may fit on others, but not the room besides that the pool, the first
	// object, keeps for as many pods as Have, as so many came within Want: until Until if no further
	// pods come. Hint is how much of savings was spent again, in $/h.
	RoomKept Code = "RoomKept"
	// NothingCheaper: what the machine holds costs as much elsewhere; Have is its
	// price, Want the least for the same.
	NothingCheaper Code = "NothingCheaper"
	// SavingTooSmall: Have is what going would save, Want the least that is worth it. Field
	// is the setting that Want comes from, and the first object the pool if that is
	// consolidationPolicy or loopFreeze, else the Node; if it is spotToSpot, Total is how many instance
	// types there are to choose from; if it is machines, how many more there would be; if it is loopFreeze, Removed of the pool's Total pods
	// were evicted lately, which is remembered until Until, and Hint is how much of
	// savings was spent again, in $/h. It is empty for a replacement that
	// turned out to cost more than promised.
	SavingTooSmall Code = "SavingTooSmall"
	// WatchBehind: the API server has the first object, a pod, on the second, and the watch of
	// pods has not told of it.
	WatchBehind Code = "WatchBehind"
	// NotExamined: the machine costs more than what it holds is worth by Have, or is to
	// be replaced if that is empty, and its turn comes with one of the next passes.
	NotExamined Code = "NotExamined"
	// CountedOn: the pods of the first object, a machine that goes, will need the
	// machine.
	CountedOn Code = "CountedOn"
	// Replacement: the machine was launched to replace the first object.
	Replacement Code = "Replacement"
	// RolledBack: a command that the machine was part of is off because of the first
	// object; Have says why.
	RolledBack Code = "RolledBack"
	// ReplacementFailed: what was launched in place of the machine did not become
	// ready; the next attempt is at Until. Have is how many failed in a row, Hint what the
	// first of them waited for.
	ReplacementFailed Code = "ReplacementFailed"
	// LimitHolds: a further machine would exceed the limits of the pool, the first object.
	LimitHolds Code = "LimitHolds"
	// PolicyHolds: the NodePolicy, the second object, of the pool forbids it now; Want
	// is the field.
	PolicyHolds Code = "PolicyHolds"
	// NotAgreed: the policy of the pool, the second object, demands that pods agree to
	// move, and the first object does not.
	NotAgreed Code = "NotAgreed"
	// WorkloadCoolsDown: a pod of the workload of the first object, a pod, started
	// only at Since; Want is the cool-down.
	WorkloadCoolsDown Code = "WorkloadCoolsDown"
	// EvictionRateReached: Want is how many pods of the pool, the first object, may be
	// evicted in an hour, Have how many were or are about to be.
	EvictionRateReached Code = "EvictionRateReached"
	// PriceUnknown: the cloud names no price for the machine's type.
	PriceUnknown Code = "PriceUnknown"
)
