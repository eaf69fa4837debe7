package snapshot

import (
	"cmp"
	"time"
)

// Defaults of a [DisruptionPolicy].
const (
	DefaultMinSaving     = 0.02
	DefaultMinSpotSaving = 0.2
	DefaultMinSpotTypes  = 5
	DefaultLoopFreeze    = 15 * time.Minute
)

// DisruptionPolicy says about voluntary disruption what a pool has no field for.
// The zero value of a field is its default.
type DisruptionPolicy struct {
	// From is the NodePolicy's name.
	From string
	// Freeze says why nothing is disrupted; empty if that is not so.
	Freeze string
	// Windows are the times at which disruption may begin; none is always.
	Windows []Window
	// DefaultDeny keeps machines with pods that do not agree to move.
	DefaultDeny bool
	// Budgets come on top of the pool's own.
	Budgets []WideBudget
	// EvictionsPerHour bounds the pool's evictions; zero is no bound.
	EvictionsPerHour int
	// WorkloadCooldown is how long a workload is left in peace after a pod of it has
	// started.
	WorkloadCooldown time.Duration
	// PaybackTime is within what time a consolidation must save what it costs, zero
	// for no bound; PodMoveCost is what moving a pod costs, in dollars.
	PaybackTime time.Duration
	PodMoveCost float64
	// LoopFreeze is for how long evictions make further moves weigh more; nil is the
	// default, zero is not at all.
	LoopFreeze *time.Duration
	// MinNodeAge is since when a machine must be initialized to be consolidated.
	MinNodeAge time.Duration
	// MinSaving is the least share of its price that a replacement must save;
	// MinSpotSaving the same of a spot machine for a spot machine, if there are
	// MinSpotTypes types to choose from.
	MinSaving, MinSpotSaving float64
	MinSpotTypes             int
	// IgnoreJobs leaves pods of Jobs out of what makes a machine restless.
	IgnoreJobs bool
	// ExpiryDeadline is how long after its expireAfter a machine goes whatever else
	// holds; nil is never.
	ExpiryDeadline *time.Duration
}

// WideBudget bounds how many machines of all pools go at once: of the whole cluster,
// or of each zone.
type WideBudget struct {
	// Zone is whether zones are counted apart.
	Zone bool
	// Nodes and Reasons are those of a [Budget].
	Nodes   string
	Reasons []string
}

// ReplacesAnnotation is on the claims that were launched for a command: its ID.
const ReplacesAnnotation = "millwright.dev/replaces"

// PoolMove is what voluntary disruption did to a pool within a minute.
type PoolMove struct {
	// At is when the last of it was done, to the second.
	At time.Time `json:"at"`
	// Pods were evicted.
	Pods int `json:"pods,omitempty"`
	// Saved is what the moves among it saved, and Spent how much of that was soon spent
	// again on machines for pods, both in $/h.
	Saved float64 `json:"saved,omitempty"`
	Spent float64 `json:"spent,omitempty"`
	// Commands are those of which the latest entry tells: one that is tried again counts once.
	Commands []string `json:"commands,omitempty"`
}

// Window opens at the times of a schedule (cron, in a time zone by its IANA name,
// empty for UTC) for a duration, both by the wall clock there.
type Window struct {
	Schedule, TimeZone string
	Duration           time.Duration
}

// Defaulted has every field set that has a default.
func (d DisruptionPolicy) Defaulted() DisruptionPolicy {
	d.MinSaving = cmp.Or(d.MinSaving, DefaultMinSaving)
	d.MinSpotSaving = cmp.Or(d.MinSpotSaving, DefaultMinSpotSaving)
	d.MinSpotTypes = cmp.Or(d.MinSpotTypes, DefaultMinSpotTypes)
	d.LoopFreeze = cmp.Or(d.LoopFreeze, new(DefaultLoopFreeze))
	return d
}
