package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// budgetsThatNeverOpen allow no disruption at any time.
func budgetsThatNeverOpen(in *Inventory) []Finding {
	var out []Finding
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

// year and most bound how many times of a schedule are looked at.
const (
	year = 366 * 24 * time.Hour
	most = 10_000
)

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
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
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
