package disruption

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func notFrozen(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	why := p.Policy.Disruption.Freeze
	return plan.Reason{Code: plan.PolicyHolds, Objects: poolRef(p), Want: fmt.Sprintf("freeze: %q", why)}, why != ""
}

func oldEnough(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	age := p.Policy.Disruption.MinNodeAge
	since := n.Claim.Conditions[snapshot.Initialized].Since
	return plan.Reason{
		Code: plan.PolicyHolds, Objects: poolRef(p), Want: fmt.Sprintf("minNodeAge: %s", age), Since: since, Until: since.Add(age),
	}, e.s.Now.Before(since.Add(age))
}

// inWindow asks whether a disruption may begin now. A window that cannot be read
// never opens.
func inWindow(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	windows := p.Policy.Disruption.Windows
	if len(windows) == 0 {
		return plan.Reason{}, false
	}
	r := plan.Reason{Code: plan.PolicyHolds, Objects: poolRef(p), Want: "outside its windows"}
	for _, w := range windows {
		schedule, err := cron.ParseStandard("TZ=" + zone(w) + " " + w.Schedule)
		if err != nil {
			r.Want = fmt.Sprintf("a window cannot be read: %v", err)
			continue
		}
		// The window is open if its last opening was less than its duration ago.
		opened := schedule.Next(e.s.Now.Add(-w.Duration))
		if !opened.IsZero() && !opened.After(e.s.Now) {
			return plan.Reason{}, false
		}
		if !opened.IsZero() && (r.Until.IsZero() || opened.Before(r.Until)) {
			r.Until = opened
		}
	}
	return r, true
}

func zone(w snapshot.Window) string {
	if w.TimeZone == "" {
		return "UTC"
	}
	return w.TimeZone
}

// lastDeadline is when a machine is removed for its age whatever else holds; zero
// for never.
func lastDeadline(p *snapshot.Pool, c *snapshot.Claim) time.Time {
	d := p.Policy.Disruption.ExpiryDeadline
	if d == nil || c.ExpireAfter == nil {
		return time.Time{}
	}
	return c.Created.Add(*c.ExpireAfter + *d)
}
