package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A user scales a Deployment out, in, out and in again within a few minutes. Each time
// out all pods run; the first time in, the machines that nobody needs go at once, in
// several goes as the budget has it. The second time in the pool may have learned that
// what it removes comes back: then a machine that stays says why, and until when.
func TestAWorkloadThatIsScaledOutAndInTwiceLeavesNoMachineWithoutAReason(t *testing.T) {
	t.Parallel()
	const low, high = 2, 8
	c := newCluster(t)
	c.millwright()
	c.manifests(class + "---" + disruptedPool("blue", `consolidateAfter: 2s, consolidationPolicy: WhenEmptyOrUnderutilized, budgets: [{nodes: "3"}]`, ""))
	c.manifests(spread("web", high))
	c.eventually(patience, c.running("app=web", high))

	began := time.Now()
	c.scale("web", low)
	c.eventually(patience, func() error { return c.replaced(nil, low) })
	took := time.Since(began)
	t.Logf("the machines that nobody needs were gone %v after the scale-in", took.Round(time.Second))
	if most := promised(time.Minute); took > most {
		t.Errorf("the machines that nobody needs were gone after %v only, not within %v", took, most)
	}
	c.eventually(patience, c.running("app=web", low))

	c.scale("web", high)
	c.eventually(patience, c.running("app=web", high))
	c.scale("web", low)
	c.eventually(patience, c.running("app=web", low))
	c.eventually(patience, func() error {
		if err := c.accountedFor(); err != nil {
			return err
		}
		return c.stayForAReason()
	})
	if n := len(c.claims()); n < low || n > high {
		t.Errorf("%d machines for %d pods, at the most there were %d", n, low, high)
	}
}

var (
	lookedAtAgain = regexp.MustCompile(`(?m)^It is looked at again at (\S+)\.$`)
	untilWhen     = regexp.MustCompile(`until (\S+)$`)
)

// stayForAReason finds fault unless each machine without a pod of the workload is on its
// way out, or its condition says which reason keeps it and until when. The command line
// is asked about the first of these, and says the same.
func (c *cluster) stayForAReason() error {
	inUse, asked := c.nodesOf("app=web"), false
	for _, claim := range c.claims() {
		verdict := disruptable(&claim)
		if slices.Contains(inUse, claim.GetName()) || claim.GetDeletionTimestamp() != nil || verdict.status == "True" {
			continue
		}
		until := first(untilWhen, verdict.message)
		// consolidateAfter is over in a moment.
		if at, err := time.Parse(time.RFC3339, until); verdict.reason == "ConsolidateAfter" || err != nil || at.Before(time.Now()) {
			return fmt.Errorf("claim %s is %s without an end to come: %q", claim.GetName(), verdict.reason, verdict.message)
		}
		if asked {
			continue
		}
		asked = true
		answer := c.why(claim.GetName())
		if !strings.Contains(answer, "It stays ("+verdict.reason+")") || first(lookedAtAgain, answer) != until {
			return fmt.Errorf("claim %s is %s until %s, and millwright why node says:\n%s", claim.GetName(), verdict.reason, until, answer)
		}
		c.Logf("millwright why node says:\n%s", answer)
	}
	return nil
}

// first is what a pattern's group matches in a text, empty if nothing.
func first(pattern *regexp.Regexp, text string) string {
	found := pattern.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return found[1]
}

// disruptable is the condition that says why a machine stays or goes.
func disruptable(claim *unstructured.Unstructured) claimCondition {
	for _, c := range conditionsOf(claim) {
		if c.kind == "Disruptable" {
			return c
		}
	}
	return claimCondition{}
}
