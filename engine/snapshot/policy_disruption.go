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
)

// DisruptionPolicy says about voluntary disruption what a pool has no field for.
// The zero value of a field is its default.
type DisruptionPolicy struct {
	// Freeze says why nothing is disrupted; empty if that is not so.
	Freeze string
	// Windows are the times at which disruption may begin; none is always.
	Windows []Window
	// MinNodeAge is since when a machine must be initialized to be consolidated.
	MinNodeAge time.Duration
	// MinSaving is the least share of its price that a replacement must save;
	// MinSpotSaving the same of a spot machine for a spot machine, of which there must
	// be MinSpotTypes types.
	MinSaving, MinSpotSaving float64
	MinSpotTypes             int
	// IgnoreJobs leaves pods of Jobs out of what makes a machine restless.
	IgnoreJobs bool
	// ExpiryDeadline is how long after its expireAfter a machine goes whatever else
	// holds; nil is never.
	ExpiryDeadline *time.Duration
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
	return d
}
