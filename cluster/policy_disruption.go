package cluster

import (
	"strconv"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// disruptionPolicy translates the section.
func disruptionPolicy(in *v1alpha1.Disruption) snapshot.DisruptionPolicy {
	out := snapshot.DisruptionPolicy{
		Freeze: in.Freeze, MinNodeAge: duration(in.MinNodeAge), MinSaving: float64(in.MinSavingPercent) / 100, IgnoreJobs: in.IgnoreJobs,
	}
	out.DefaultDeny, out.EvictionsPerHour = in.DefaultDeny, int(in.EvictionsPerHour)
	out.WorkloadCooldown, out.PaybackTime = duration(in.WorkloadCooldown), duration(in.PaybackTime)
	out.PodMoveCost, _ = strconv.ParseFloat(in.PodMoveCost, 64) // empty is zero; the API server refuses what is no number
	for _, b := range in.Budgets {
		out.Budgets = append(out.Budgets, snapshot.WideBudget{Zone: b.Across == "Zone", Nodes: b.Nodes, Reasons: b.Reasons})
	}
	if s := in.SpotToSpot; s != nil {
		out.MinSpotSaving, out.MinSpotTypes = float64(s.MinSavingPercent)/100, int(s.MinTypes)
	}
	if d := in.LoopFreeze; d != nil {
		out.LoopFreeze = &d.Duration
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
