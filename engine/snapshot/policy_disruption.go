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
	DefaultLoopFreeze    = time.Hour
)

// DisruptionPolicy says about voluntary disruption what a pool has no field for.
// The zero value of a field is its default.
type DisruptionPolicy struct {
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
	// LoopFreeze is the longest that machines rest because others have come back, and for
	// how long a replacement is not undone; nil is the default, zero is neither.
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

// PoolMove is what consolidation did to a pool within a minute. A machine's kind is
// its type, zone and capacity type.
type PoolMove struct {
	// At is when the last of it was done, to the second.
	At time.Time `json:"at"`
	// Pods were evicted, for whatever voluntary cause.
	Pods int `json:"pods,omitempty"`
	// Gone are the machines that were removed, by kind; Came those that were launched
	// in their place.
	Gone map[string]int `json:"gone,omitempty"`
	Came map[string]int `json:"came,omitempty"`
	// Empty are the machines that were removed because they were, by kind.
	Empty map[string]int `json:"empty,omitempty"`
	// Back counts those of Gone and Empty that came back soon, by kind.
	Back map[string]int `json:"back,omitempty"`
	// Of is how many machines the pool had before; 0 if that was not noted.
	Of int `json:"of,omitempty"`
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
