package explain

import (
	"fmt"
	"strings"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/repair"
)

// repairHelp says what to do about a repair that does not happen.
var repairHelp = map[plan.Code]string{
	plan.RepairBlocked:     "find out what is wrong with so many; or raise NodePolicy spec.repair.breaker.maxUnhealthy",
	plan.CorrelatedFailure: "mend what they share; or raise NodePolicy spec.repair.breaker.correlatedPercent",
	plan.RepairBudget:      "wait for the others; or raise NodePolicy spec.repair.budget",
	plan.TooFewHealthy:     "use NodePolicy spec.repair.action: Replace; or lower spec.repair.minHealthy",
	plan.FindingNoted:      "mend the machine or delete its NodeClaim: kubectl delete nodeclaim ",
}

// health says what is wrong with a machine, as its claim says.
func (m *Machine) health(a *Answer) {
	c := m.Claim.Conditions[repair.Unhealthy]
	if !m.Claim.Is(repair.Unhealthy) {
		return
	}
	a.say(fmt.Sprintf("%s is unhealthy since %s: %s.", m.Title(), Stamp(c.Since), c.Message))
	if help := repairHelp[plan.Code(c.Reason)]; help != "" {
		if strings.HasSuffix(help, " ") {
			help += m.Claim.Name
		}
		a.Fixes = append(a.Fixes, Fix{What: help})
	}
}
