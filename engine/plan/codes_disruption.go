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
	// DoNotDisrupt: the annotation on the first object (Node, NodeClaim or Pod)
	// forbids it; Have is its value.
	DoNotDisrupt Code = "DoNotDisrupt"
	// Nominated: a pending pod, the first object, counts on the machine.
	Nominated Code = "Nominated"
	// ConsolidationOff: the pool's consolidateAfter is Never.
	ConsolidationOff Code = "ConsolidationOff"
	// HasPods: pods that would have to move run there; Have is how many, the
	// objects are the first few.
	HasPods Code = "HasPods"
	// PDBBlocks: the first object is a pod that the PDBs after it guard.
	PDBBlocks Code = "PDBBlocks"
	// ConsolidateAfter: the machine has not been quiet for long enough; Want is the
	// pool's consolidateAfter, Since when it began to count.
	ConsolidateAfter Code = "ConsolidateAfter"
	// BudgetExhausted: the pool's budgets permit no further disruption; Want is the
	// budget that decided, Have the count, Until when it opens.
	BudgetExhausted Code = "BudgetExhausted"
	// BudgetInvalid: a budget of the pool cannot be read, so all are shut; Have
	// says what is wrong.
	BudgetInvalid Code = "BudgetInvalid"
)
