package cluster

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// interruption translates the section.
func interruption(in *v1alpha1.Interruption) snapshot.Interruption {
	var out snapshot.Interruption
	for i := range in.Rules {
		out.Rules = append(out.Rules, interruptionRule(&in.Rules[i]))
	}
	return out
}

func interruptionRule(in *v1alpha1.InterruptionRule) snapshot.InterruptionRule {
	out := snapshot.InterruptionRule{
		Pods:                selector(in.Pods),
		Action:              snapshot.InterruptionAction(in.Action),
		Reserve:             duration(in.Reserve),
		LeaveIfTooLate:      in.WhenTooLate == v1alpha1.TooLateLeave,
		ForceAtDeadline:     in.AtDeadline == v1alpha1.DeadlineForce,
		RespectDoNotDisrupt: in.DoNotDisrupt == v1alpha1.DoNotDisruptRespect,
		OnlyConfirmed:       in.Unconfirmed == v1alpha1.UnconfirmedWait,
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
	if w := in.Window; w != nil {
		out.Window = &snapshot.WeeklyWindow{TimeZone: w.TimeZone, Days: weekdays(w.Days), From: timeOfDay(w.From), To: timeOfDay(w.To)}
	}
	return out
}

func weekdays(in []v1alpha1.Weekday) []time.Weekday {
	var out []time.Weekday
	for d := time.Sunday; d <= time.Saturday; d++ {
		if slices.Contains(in, v1alpha1.Weekday(d.String())) {
			out = append(out, d)
		}
	}
	return out
}

// timeOfDay reads a time such as 02:00; what the API server would refuse is
// midnight.
func timeOfDay(s string) time.Duration {
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}
