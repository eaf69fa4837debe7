package disruption

import (
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/window"
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
	opens, err := window.Opens(windows, e.s.Now)
	switch {
	case err != nil:
		r.Want = fmt.Sprintf("a window cannot be read: %v", err)
	case opens.After(e.s.Now):
		r.Until = opens
	default:
		return plan.Reason{}, false
	}
	return r, true
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
