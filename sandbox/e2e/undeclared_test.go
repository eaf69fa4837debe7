package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// An operator taints new nodes until its agent works, and the pool does not declare
// that taint. After the third node the pool knows, says so, and launches no machine
// twice, whether machines that are too many stay for a while or go at once.
func TestAnUndeclaredStartupTaintCausesNoFurtherLaunchesOnceItIsKnown(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(class)
	c.millwright()
	log := c.watchClaims()
	var all sync.WaitGroup
	for name, consolidateAfter := range map[string]string{"green": "5m", "teal": "1s"} {
		all.Go(func() {
			t.Run(name, func(t *testing.T) {
				one := *c
				one.T = t
				one.learns(log, name, consolidateAfter)
			})
		})
	}
	all.Wait()
}

// learns starts three nodes of a pool, one after the other, then twenty.
func (c *cluster) learns(log *claimLog, name, consolidateAfter string) {
	const taint = "node.cilium.io/agent-not-ready:NoSchedule"
	const pods = 20
	// The taint outlasts the time for which a node may be kept for others of its plan:
	// what has gone before it is registered hurts nobody, and is not learned.
	text := start{annotations: sandboxed("join-taints", taint, "agent-taint", taint, "agent-delay", "12s")}.pool(name)
	c.manifests(strings.Replace(text, "consolidateAfter: 1s", "consolidateAfter: "+consolidateAfter, 1))
	for i := range 3 {
		app := fmt.Sprint(name, "-", i)
		c.manifests(deployment(app, name, 1, "100", "100Gi"))
		c.eventually(patience, c.running("app="+app, 1))
	}
	c.eventually(patience, func() error {
		return c.poolSays(name, "UndeclaredStartupTaints", "- {key: node.cilium.io/agent-not-ready, effect: NoSchedule}")
	})
	before := log.of(name)
	if consolidateAfter == "1s" {
		// What was launched twice goes away again, and so cannot help out now.
		c.eventually(patience, func() error {
			before = log.of(name)
			if n := remaining(before); n != 3 {
				return fmt.Errorf("%d machines for 3 pods", n)
			}
			return nil
		})
	}
	c.manifests(deployment(name+"-more", name, pods, "100", "100Gi"))
	c.eventually(patience, c.running("app="+name+"-more", pods))
	launched := len(log.of(name)) - len(before)
	c.Logf("%d launches for the first 3 nodes, %d of them there; then %d for %d", len(before), remaining(before), launched, pods)
	most := pods + pods/4 // where clusters share a few cores, kube-scheduler may hear of taints late
	if *long {
		most = pods + pods/20
	}
	if launched > most {
		c.Errorf("%d machines were launched for %d pods that need one each:\n%s", launched, pods, log.tell(name))
	}
}

// remaining counts the claims that are there.
func remaining(stories []claimStory) int {
	n := 0
	for _, s := range stories {
		if !s.gone {
			n++
		}
	}
	return n
}
