package doctor

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/doctor/pool"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/window"
)

// typical is how long before it acts a cloud says so.
var typical = map[string]time.Duration{maintenance: 14 * 24 * time.Hour, "SpotInterruption": 2 * time.Minute}

// windowsThatOpenTooLate are those of policies for events before whose deadline none may open.
func windowsThatOpenTooLate(in *Inventory) []Finding {
	var out []Finding
	for _, p := range in.Policies {
		if p.Spec.Interruption == nil {
			continue
		}
		for i := range p.Spec.Interruption.Rules {
			r := &p.Spec.Interruption.Rules[i]
			event, lead := shortest(r)
			if len(r.Windows) == 0 || event == "" {
				continue
			}
			within := lead
			if r.LeadTime != nil {
				within = min(within, r.LeadTime.Duration)
			}
			pause, ok := longestPause(r.Windows)
			if !ok || pause < within {
				continue
			}
			path := fmt.Sprintf("/spec/interruption/rules/%d", i)
			f := Finding{
				Severity: Warning, Object: plan.ObjectRef{Kind: "NodePolicy", Name: p.Name}, Field: fmt.Sprintf("spec.interruption.rules[%d].windows", i),
				Message: fmt.Sprintf("are up to %s apart, and for %s there are %s: often none opens, and the node is drained at the last moment, whenever that is", duration.HumanDuration(pause), event, duration.HumanDuration(within)),
				Advice:  "open them more often",
			}
			switch {
			case r.LeadTime != nil && pause < lead:
				f.Advice = "begin earlier: leave leadTime out, or open windows more often"
				f.Patch = &Patch{Object: f.Object, Steps: []Step{{Op: "remove", Path: path + "/leadTime"}}}
			case len(r.Events) == 1:
				f.Advice = "open them more often, or leave them out for such events"
				f.Patch = &Patch{Object: f.Object, Steps: []Step{{Op: "remove", Path: path + "/windows"}}}
			}
			out = append(out, f)
		}
	}
	return out
}

// shortest is the event of a rule that is announced the shortest time ahead, and how long that is.
func shortest(r *v1alpha1.InterruptionRule) (event string, lead time.Duration) {
	for _, e := range r.Events {
		if d, known := typical[string(e)]; known && (event == "" || d < lead) {
			event, lead = string(e), d
		}
	}
	return event, lead
}

// longestPause is the longest time in a year until one of some windows is open, to the quarter
// of an hour; false if they cannot be read.
func longestPause(list []v1alpha1.Window) (time.Duration, bool) {
	windows := windowsOf(list)
	if slices.ContainsFunc(windows, func(w snapshot.Window) bool { return window.Check(w) != nil }) {
		return 0, false
	}
	begin := pool.FirstDay
	var longest time.Duration
	for at := begin; at.Before(begin.Add(pool.Year)); {
		open, err := window.Opens(windows, at)
		if err != nil {
			return 0, false
		}
		longest = max(longest, open.Sub(at))
		at = open.Add(15 * time.Minute)
	}
	return longest, true
}

func windowsOf(list []v1alpha1.Window) []snapshot.Window {
	out := make([]snapshot.Window, len(list))
	for i, w := range list {
		out[i] = snapshot.Window{Schedule: w.Schedule, Duration: w.Duration.Duration, TimeZone: w.TimeZone}
	}
	return out
}
