package cluster

import (
	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// disruptionPolicy translates the section.
func disruptionPolicy(in *v1alpha1.Disruption) snapshot.DisruptionPolicy {
	out := snapshot.DisruptionPolicy{
		Freeze: in.Freeze, MinNodeAge: duration(in.MinNodeAge), MinSaving: float64(in.MinSavingPercent) / 100, IgnoreJobs: in.IgnoreJobs,
	}
	if s := in.SpotToSpot; s != nil {
		out.MinSpotSaving, out.MinSpotTypes = float64(s.MinSavingPercent)/100, int(s.MinTypes)
	}
	if d := in.ExpiryDeadline; d != nil {
		out.ExpiryDeadline = &d.Duration
	}
	out.Windows = windows(in.Windows)
	return out
}

func windows(in []v1alpha1.Window) []snapshot.Window {
	var out []snapshot.Window
	for _, w := range in {
		out = append(out, snapshot.Window{Schedule: w.Schedule, TimeZone: w.TimeZone, Duration: w.Duration.Duration})
	}
	return out
}
