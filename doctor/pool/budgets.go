package pool

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/window"
)

// BudgetsThatNeverOpen allow no disruption at any time.
func BudgetsThatNeverOpen(pools []*karpv1.NodePool) []finding.Finding {
	var out []finding.Finding
	for _, np := range pools {
		for i := range np.Spec.Disruption.Budgets {
			b := &np.Spec.Disruption.Budgets[i]
			if b.Nodes != "0" && b.Nodes != "0%" || lapse(np.Spec.Disruption.Budgets[i:i+1]) {
				continue
			}
			what := "no node is consolidated, or replaced when it has drifted"
			if len(b.Reasons) > 0 {
				what = fmt.Sprintf("no node goes for these reasons: %s", strings.Trim(fmt.Sprint(b.Reasons), "[]"))
			}
			path := fmt.Sprintf("/spec/disruption/budgets/%d/nodes", i)
			out = append(out, finding.Finding{
				Severity: finding.Warning, Object: finding.RefOf("NodePool", np), Field: fmt.Sprintf("spec.disruption.budgets[%d].nodes", i),
				Message: fmt.Sprintf("is %s at all times: %s", b.Nodes, what),
				Advice:  "allow some nodes, or give the budget a schedule and a duration; consolidateAfter: Never says the same openly of consolidation",
				Patch:   &finding.Patch{Object: finding.RefOf("NodePool", np), Steps: []finding.Step{finding.Op("test", path, b.Nodes), finding.Op("replace", path, "10%")}},
			})
		}
	}
	return out
}

// BudgetsThatLapse allow some nodes in windows, outside of which no other budget bounds how many go,
// and nodes of the pool do not go in windows of a policy only.
func BudgetsThatLapse(pools []*karpv1.NodePool, windowed func(*karpv1.NodePool) bool) []finding.Finding {
	var out []finding.Finding
	for _, np := range pools {
		budgets := np.Spec.Disruption.Budgets
		i := slices.IndexFunc(budgets, func(b karpv1.Budget) bool { return b.Nodes != "0" && b.Nodes != "0%" && len(lapsing(&b, budgets)) > 0 })
		if i < 0 || windowed(np) {
			continue
		}
		b := &budgets[i]
		f := finding.Finding{
			Severity: finding.Warning, Object: finding.RefOf("NodePool", np), Field: fmt.Sprintf("spec.disruption.budgets[%d].schedule", i),
			Message: fmt.Sprintf("bounds how many nodes go only while its window is open: outside of it all may go at once for these reasons: %s", strings.Trim(fmt.Sprint(lapsing(b, budgets)), "[]")),
			Advice:  `add a budget with nodes: "0" for the time outside of the window; or let a NodePolicy open windows (spec.disruption.windows): nodes go in these only`,
		}
		if len(budgets) == 1 {
			if rest := outside(b); rest != nil {
				f.Patch = &finding.Patch{Object: f.Object, Steps: []finding.Step{finding.Op("add", "/spec/disruption/budgets/-", rest)}}
			}
		}
		out = append(out, f)
	}
	return out
}

// lapsing are the reasons of a budget in windows for which at some time no budget counts.
func lapsing(b *karpv1.Budget, all []karpv1.Budget) []karpv1.DisruptionReason {
	if scheduleOf(b) == nil {
		return nil
	}
	reasons := b.Reasons
	if len(reasons) == 0 {
		reasons = []karpv1.DisruptionReason{karpv1.DisruptionReasonDrifted, karpv1.DisruptionReasonEmpty, karpv1.DisruptionReasonUnderutilized}
	}
	return slices.DeleteFunc(slices.Clone(reasons), func(reason karpv1.DisruptionReason) bool {
		return !lapse(slices.DeleteFunc(slices.Clone(all), func(o karpv1.Budget) bool {
			return len(o.Reasons) > 0 && !slices.Contains(o.Reasons, reason)
		}))
	})
}

// lapse reports whether at some time of a year none of some budgets counts: always, or from the end of
// a window on, as another one is not open then.
func lapse(budgets []karpv1.Budget) bool {
	windows := make([]snapshot.Window, len(budgets))
	for i, b := range budgets {
		if b.Schedule == nil || b.Duration == nil {
			return false
		}
		windows[i] = snapshot.Window{Schedule: *b.Schedule, Duration: b.Duration.Duration}
	}
	if _, err := window.Opens(windows, FirstDay); err != nil {
		return true
	}
	return slices.ContainsFunc(budgets, func(b karpv1.Budget) bool {
		schedule, at := scheduleOf(&b), FirstDay
		for n := 0; schedule != nil && n < most; n++ {
			if at = schedule.Next(at); at.IsZero() || at.After(FirstDay.Add(Year)) {
				break
			}
			end := at.Add(b.Duration.Duration)
			if open, err := window.Opens(windows, end); err != nil || open.After(end) {
				return true
			}
		}
		return false
	})
}

// scheduleOf is when a budget begins to count, nil if it always does or the API server refuses it.
func scheduleOf(b *karpv1.Budget) cron.Schedule {
	if b.Schedule == nil || b.Duration == nil {
		return nil
	}
	schedule, err := cron.ParseStandard("TZ=UTC " + *b.Schedule)
	if err != nil {
		return nil
	}
	return schedule
}

// outside is a budget of 0 for the time outside of the windows of another one, nil if these do not
// come once an hour, a day or a week.
func outside(b *karpv1.Budget) *karpv1.Budget {
	schedule, form := scheduleOf(b), ""
	first := schedule.Next(FirstDay)
	end, period := first.Add(b.Duration.Duration), schedule.Next(first).Sub(first)
	switch period {
	case time.Hour:
		form = fmt.Sprintf("%d * * * *", end.Minute())
	case 24 * time.Hour:
		form = fmt.Sprintf("%d %d * * *", end.Minute(), end.Hour())
	case 7 * 24 * time.Hour:
		form = fmt.Sprintf("%d %d * * %d", end.Minute(), end.Hour(), end.Weekday())
	default:
		return nil
	}
	for at := first; at.Before(FirstDay.Add(Year)); at = schedule.Next(at) {
		if schedule.Next(at).Sub(at) != period {
			return nil
		}
	}
	return &karpv1.Budget{Nodes: "0", Schedule: &form, Duration: &metav1.Duration{Duration: period - b.Duration.Duration}, Reasons: b.Reasons}
}

// Year and most bound how many times of a schedule are looked at.
const (
	Year = 366 * 24 * time.Hour
	most = 10_000
)

// FirstDay is where looking at schedules begins.
var FirstDay = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
