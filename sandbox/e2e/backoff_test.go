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
		return c.poolSays("broken", "LaunchesPaused", "in a row failed (registration_timeout")
	})
	launched := len(log.of("broken"))
	c.throughout(15*time.Second, func() error {
		if n := len(log.of("broken")); n > launched {
			return fmt.Errorf("%d launches in the pause, %d before", n, launched)
		}
		return nil
	})
}

// Machines of one architecture's image never join. Its failures do not stop the pool:
// pods get machines of the other architecture.
func TestAnImageThatNeverRegistersIsLeftForAnotherOfTheClass(t *testing.T) {
	if !*long {
		t.Skip("takes minutes; run with -long")
	}
	t.Parallel()
	const broken = "kwok-linux-arm64"
	c := newCluster(t)
	c.inject("cloud", "neverJoin", broken)
	c.manifests(class)
	c.millwright()
	log := c.watchClaims()
	c.manifests(pool("mixed", "amd64, arm64") + "---" +
		nodePolicy("mixed", "launchTimeout: 20s, registrationTimeout: 30s, backoff: {failures: 2, initial: 10m}"))
	c.manifests(deployment("web", "mixed", 4, "100", "100Gi"))
	c.eventually(patience, c.running("app=web", 4))
	failed := 0
	for _, s := range log.of("mixed") {
		if s.givenUp == "registration_timeout" {
			failed++
		}
	}
	if failed < 2 || failed > 4 {
		t.Errorf("%d machines failed before planning went elsewhere:\n%s", failed, log.tell("mixed"))
	}
	c.eventually(patience, func() error {
		return c.poolSays("mixed", "LaunchesPaused", "machines of image "+broken+" in a row failed")
	})
	c.manifests(deployment("more", "mixed", 3, "100", "100Gi"))
	before := len(log.of("mixed"))
	c.eventually(patience, c.running("app=more", 3))
	if n := len(log.of("mixed")) - before; n != 3 {
		t.Errorf("%d launches for 3 pods while the image pauses", n)
	}
}

// poolSays finds fault unless a condition of a NodePool is True and its message
// contains a text.
func (c *cluster) poolSays(name, condition, text string) error {
	np, err := c.dynamic.Resource(nodePools).Get(c.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, cond := range conditionsOf(np) {
		if cond.kind == condition && cond.status == "True" && strings.Contains(cond.message, text) {
			return nil
		}
	}
	return fmt.Errorf("NodePool %s does not say %s with %q: %v", name, condition, text, conditionsOf(np))
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
