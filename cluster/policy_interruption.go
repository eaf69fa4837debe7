package cluster

import (
	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// interruption translates the section.
func interruption(in *v1alpha1.Interruption) snapshot.Interruption {
	out := snapshot.Interruption{Rates: rates(in.Rates)}
	for i := range in.Rules {
		out.Rules = append(out.Rules, interruptionRule(&in.Rules[i]))
	}
	return out
}

func interruptionRule(in *v1alpha1.InterruptionRule) snapshot.InterruptionRule {
	out := snapshot.InterruptionRule{
		Pods:                selector(in.Pods),
		Waiting:             selector(in.Waiting),
		Windows:             windows(in.Windows),
		Action:              snapshot.InterruptionAction(in.Action),
		Reserve:             duration(in.Reserve),
		LeaveIfTooLate:      in.WhenTooLate == v1alpha1.TooLateLeave,
		ForceAtDeadline:     in.AtDeadline == v1alpha1.DeadlineForce,
		RespectDoNotDisrupt: in.DoNotDisrupt == v1alpha1.DoNotDisruptRespect,
		EvictDoNotDisrupt:   in.DoNotDisrupt == v1alpha1.DoNotDisruptEvict,
		IgnoreBudgets:       in.PodDisruptionBudgets == v1alpha1.RegardIgnore,
		IgnoreGracePeriod:   in.TerminationGracePeriod == v1alpha1.RegardIgnore,
		RespectPoolBudgets:  in.NodePoolBudgets == v1alpha1.RegardRespect,
		KeepPods:            in.RestartPods == v1alpha1.RestartKeep,
		RestartTimeout:      duration(in.RestartTimeout),
		OnlyConfirmed:       in.Unconfirmed == v1alpha1.UnconfirmedWait,
	}
	if in.Approval != v1alpha1.ApprovalNone {
		out.Approval = snapshot.Approval(in.Approval)
	}
	for _, e := range in.Events {
		out.Events = append(out.Events, string(e))
	}
	for _, c := range in.Codes {
		out.Codes = append(out.Codes, string(c))
	}
	if in.LeadTime != nil {
		out.LeadTime = &in.LeadTime.Duration
	}
	return out
}

func rates(in []v1alpha1.InterruptionRate) []snapshot.Rate {
	var out []snapshot.Rate
	for _, r := range in {
		out = append(out, snapshot.Rate{Scope: snapshot.RateScope(r.Scope), Burst: int(r.Burst), Every: r.Every.Duration})
	}
	return out
}
