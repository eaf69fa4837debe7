package e2e

import (
	"testing"
	"time"
)

// A user scales a Deployment out and in, again and again, within a few minutes. Each time out
// all pods run; each time in, the machines that are empty go at once, in several goes as the
// budget has it, however often others like them have come back.
func TestAWorkloadThatIsScaledOutAndInAgainAndAgainLeavesNoEmptyMachine(t *testing.T) {
	t.Parallel()
	const low, high, times = 2, 8, 3
	c := newCluster(t)
	c.millwright()
	c.manifests(class + "---" + disruptedPool("blue", `consolidateAfter: 2s, consolidationPolicy: WhenEmptyOrUnderutilized, budgets: [{nodes: "3"}]`, ""))
	c.manifests(spread("web", high))
	for i := range times {
		c.scale("web", high)
		c.eventually(patience, c.running("app=web", high))
		began := time.Now()
		c.scale("web", low)
		c.eventually(patience, func() error { return c.replaced(nil, low) })
		took := time.Since(began)
		t.Logf("scale-in %d: the machines that were empty were gone after %v", i+1, took.Round(time.Second))
		if most := promised(time.Minute); took > most {
			t.Errorf("scale-in %d: the machines that were empty were gone after %v only, not within %v", i+1, took, most)
		}
		c.eventually(patience, c.running("app=web", low))
	}
	c.eventually(patience, c.accountedFor)
}
