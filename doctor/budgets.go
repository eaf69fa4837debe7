package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/window"
)

// budgetsThatNeverOpen allow no disruption at any time.
func budgetsThatNeverOpen(in *Inventory) []Finding {
	out := policiesThatNeverOpen(in)
	for _, np := range in.Pools {
		for i := range np.Spec.Disruption.Budgets {
			b := &np.Spec.Disruption.Budgets[i]
			if b.Nodes != "0" && b.Nodes != "0%" || !always(b) {
				continue
			}
			what := "no node is consolidated, or replaced when it has drifted"
			if len(b.Reasons) > 0 {
				what = fmt.Sprintf("no node goes for these reasons: %s", strings.Trim(fmt.Sprint(b.Reasons), "[]"))
			}
			path := fmt.Sprintf("/spec/disruption/budgets/%d/nodes", i)
			out = append(out, Finding{
				Severity: Warning, Object: poolRef(np), Field: fmt.Sprintf("spec.disruption.budgets[%d].nodes", i),
				Message: fmt.Sprintf("is %s at all times: %s", b.Nodes, what),
				Advice:  "allow some nodes, or give the budget a schedule and a duration; consolidateAfter: Never says the same openly of consolidation",
				Patch:   &Patch{Object: poolRef(np), Steps: []Step{step("test", path, b.Nodes), step("replace", path, "10%")}},
			})
		}
	}
	return out
}

// policiesThatNeverOpen are those of which no window ever opens, or whose budget over all pools
// is nothing.
func policiesThatNeverOpen(in *Inventory) []Finding {
	var out []Finding
	for _, p := range in.Policies {
		d := p.Spec.Disruption
		if d == nil || d.Freeze != "" {
			continue // a freeze is meant
		}
		ref := plan.ObjectRef{Kind: "NodePolicy", Name: p.Name}
		if _, err := window.Opens(windowsOf(d.Windows), firstDay); len(d.Windows) > 0 && err != nil {
			out = append(out, Finding{
				Severity: Warning, Object: ref, Field: "spec.disruption.windows",
				Message: fmt.Sprintf("never open (%v): no node of the policy is consolidated, or replaced when it has drifted", err),
				Advice:  "give them a day that comes; a freeze says the same openly, with its reason",
				Patch:   &Patch{Object: ref, Steps: []Step{{Op: "remove", Path: "/spec/disruption/windows"}}},
			})
		}
		for i, b := range d.Budgets {
			if b.Nodes != "0" && b.Nodes != "0%" || len(b.Reasons) > 0 {
				continue
			}
			path := fmt.Sprintf("/spec/disruption/budgets/%d/nodes", i)
			out = append(out, Finding{
				Severity: Warning, Object: ref, Field: fmt.Sprintf("spec.disruption.budgets[%d].nodes", i),
				Message: fmt.Sprintf("is %s across the %s: no node of any NodePool is consolidated, or replaced when it has drifted", b.Nodes, strings.ToLower(b.Across)),
				Advice:  "allow some nodes; a freeze says the same openly, with its reason",
				Patch:   &Patch{Object: ref, Steps: []Step{step("test", path, b.Nodes), step("replace", path, "10%")}},
			})
		}
	}
	return out
}

// year and most bound how many times of a schedule are looked at.
const (
	year = 366 * 24 * time.Hour
	most = 10_000
)

// firstDay is where looking at schedules begins.
var firstDay = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// always reports whether a budget holds at every time of a year: each of its times comes
// before the duration since the one before is over.
func always(b *karpv1.Budget) bool {
	if b.Schedule == nil || b.Duration == nil {
		return true
	}
	schedule, err := cron.ParseStandard("TZ=UTC " + *b.Schedule)
	if err != nil {
		return false // the API server says so
	}
	begin := firstDay
	at := schedule.Next(begin)
	for range most {
		next := schedule.Next(at)
		if next.IsZero() || next.After(at.Add(b.Duration.Duration)) {
			return false
		}
		if at = next; at.After(begin.Add(year)) {
			return true
		}
	}
	return true
}
