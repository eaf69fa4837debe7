package e2e

import (
	"strings"
	"testing"
)

// A pool of three machines is at its limit. With Karpenter's gate those that have drifted go before
// their replacements, one at a time.
func TestMachinesGoFirstWhereTheirReplacementsHaveNoRoomBefore(t *testing.T) {
	t.Parallel()
	const size = 3
	c := newCluster(t)
	c.millwrightWith([]string{"FEATURE_GATES=TerminateFirstDrift=true"})
	pool := disruptedPool("fixed", `budgets: [{nodes: "1"}]`, "")
	c.manifests(class + "---" + strings.Replace(pool, "\nspec:\n", "\nspec:\n  replicas: 3\n  limits: {nodes: 3}\n", 1))
	c.eventually(patience, func() error { return c.initialized(size) })
	old, fewest := names(c.claims()), size
	c.drift("fixed", "2")
	c.eventually(patience, func() error {
		ready := 0
		for _, claim := range c.claims() {
			if claim.GetDeletionTimestamp() == nil && condition(&claim, "Initialized") {
				ready++
			}
		}
		fewest = min(fewest, ready)
		return c.replaced(old, size)
	})
	c.eventually(patience, func() error { return c.initialized(size) })
	if fewest != size-1 {
		t.Errorf("at least %d machines were there all the time, want %d", fewest, size-1)
	}
}
