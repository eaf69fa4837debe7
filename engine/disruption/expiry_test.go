package disruption

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestFiftyMachinesOfOneAgeGoWithinTheBudgetAtEveryInstant(t *testing.T) {
	s := cluster(50, 3)
	s.Pools[0].Disruption.Budgets = []snapshot.Budget{{Nodes: "10"}, {Nodes: "3", Schedule: "5 12 * * *", Duration: 10 * time.Minute}}
	s.Pools[0].Disruption.ConsolidateAfter = nil
	life := 50 * time.Minute
	for _, n := range s.Nodes {
		n.Claim.ExpireAfter = &life
	}
	replaced := 0
	for minute := 0; replaced < 50; minute++ {
		if minute > 60 {
			t.Fatalf("only %d machines were replaced in an hour", replaced)
		}
		d := Decide(s, Options{})
		allowed := 10
		if minute >= 5 && minute < 15 {
			allowed = 3
		}
		if len(d.Commands) > allowed {
			t.Errorf("%s: %d machines are disrupted, %d allowed", s.Now.Format("15:04"), len(d.Commands), allowed)
		}
		for _, c := range d.Commands {
			if c.Cause != Expired {
				t.Errorf("%s goes because it is %s", c.Nodes[0].Name, c.Cause)
			}
			carryOutAtOnce(s, c)
			replaced += len(c.Nodes)
		}
		settle(s)
		s.Now = s.Now.Add(time.Minute)
	}
}
