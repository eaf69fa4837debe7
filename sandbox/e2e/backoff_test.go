package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Machines of a pool never join, as with a broken image. Its launches pause and it
// says so; pods of another pool get their machines as quickly as before.
func TestAnImageThatNeverRegistersPausesItsPoolAndNoOther(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(class + "---" + lateClass("never", "1h"))
	c.millwright()
	log := c.watchClaims()
	c.manifests(pool("good", "amd64"))
	before := c.timeOf("before")

	c.manifests(strings.Replace(pool("broken", "amd64"), "name: default", "name: never", 1) + "---" +
		nodePolicy("broken", "launchTimeout: 5s, registrationTimeout: 6s, backoff: {failures: 2, initial: 30s}"))
	c.manifests(deployment("broken", "broken", 4, "100", "100Gi"))
	c.eventually(patience, func() error {
		if n := len(log.of("broken")); n == 0 {
			return fmt.Errorf("nothing was launched")
		}
		return nil
	})
	during := min(c.timeOf("during"), c.timeOf("still-during")) // one may be unlucky with what else runs here
	t.Logf("a pod of the good pool runs after %v; while the other pool's machines fail, after %v", before, during)
	// A tenth more, and what a shared machine makes of two measurements.
	if limit := promised(before+before/10) + 3*time.Second; during > limit {
		t.Errorf("a pod of the good pool runs after %v, before it was %v", during, before)
	}

	c.eventually(patience, func() error {
		np, err := c.dynamic.Resource(nodePools).Get(c.Context(), "broken", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, cond := range conditionsOf(np) {
			if cond.kind == "LaunchesPaused" && cond.status == "True" && strings.Contains(cond.message, "machines in a row failed (registration_timeout") {
				t.Log(cond.message)
				return nil
			}
		}
		return fmt.Errorf("the NodePool does not say that it pauses: %v", conditionsOf(np))
	})
	launched := len(log.of("broken"))
	c.throughout(15*time.Second, func() error {
		if n := len(log.of("broken")); n > launched {
			return fmt.Errorf("%d launches in the pause, %d before", n, launched)
		}
		return nil
	})
}

// timeOf is how long a new pod of the pool good takes to run, on a machine of its
// own.
func (c *cluster) timeOf(name string) time.Duration {
	c.Helper()
	began := time.Now()
	c.manifests(deployment(name, "good", 1, "100", "100Gi"))
	c.eventually(patience, c.running("app="+name, 1))
	return time.Since(began)
}
