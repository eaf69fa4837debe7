package plan

// Told is whom events tell of a machine that stays, and how often.
type Told int

const (
	// Untold: that pods run on a machine, or that it has only just become quiet, is not
	// news.
	Untold Told = iota
	// ToldOfMachine: a person or a rule keeps a machine that would otherwise qualify.
	ToldOfMachine
	// ToldOfPool: what keeps the machines of a pool is said of the pool, once for all.
	ToldOfPool
	// ToldSeldom: it does not pay to remove or replace the machine.
	ToldSeldom
)

// Told says how people are told of a machine that stays for a reason.
func (c Code) Told() Told {
	switch c {
	case DoNotDisrupt, InstanceShared, NotAgreed, PDBBlocks, Nominated, PoolMissing, PodFitsNowhere, LimitHolds, ReplacementFailed:
		return ToldOfMachine
	case BudgetExhausted, BudgetInvalid, PolicyHolds, WatchBehind, EvictionRateReached:
		return ToldOfPool
	case NothingCheaper, RoomKept, Starved, SavingTooSmall, PriceUnknown:
		return ToldSeldom
	}
	return Untold
}
