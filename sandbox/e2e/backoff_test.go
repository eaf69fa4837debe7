package e2e

import (
	"errors"
	"fmt"
	"slices"
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
	measure := func(what string) time.Duration {
		if !*long {
			return min(c.timeOf(what), c.timeOf(what+"-again")) // one may be unlucky with what else runs here
		}
		return c.medianTimeOf(what, 7)
	}
	before := measure("before")

	// Pauses are short at first, so that machines fail again and again meanwhile.
	policy := func(backoff string) string {
		return nodePolicy("broken", "initialization", "launchTimeout: 5s, registrationTimeout: 6s, backoff: {failures: 2, "+backoff+"}")
	}
	c.manifests(strings.Replace(pool("broken", "amd64"), "name: default", "name: never", 1) + "---" + policy("initial: 10s, max: 10s"))
	c.manifests(deployment("broken", "broken", 4, "100", "100Gi"))
	c.eventually(patience, func() error {
		if n := len(log.of("broken")); n == 0 {
			return fmt.Errorf("nothing was launched")
		}
		return nil
	})
	during := measure("during")
	t.Logf("a pod of the good pool runs after %v; while the other pool's machines fail, after %v", before, during)
	limit := before + before/10
	if !*long {
		limit = promised(limit) + 3*time.Second // what a shared machine makes of few measurements
	}
	if during > limit {
		t.Errorf("a pod of the good pool runs after %v, before it was %v", during, before)
	}

	c.manifests(policy("initial: 10m, max: 10m"))
	c.eventually(patience, func() error {
		return errors.Join(
			c.poolSays("broken", "LaunchesPaused", "in a row failed (registration_timeout"),
			c.poolSays("broken", "LaunchesPaused", "no other is launched before"),
		)
	})
	launched, quiet := 0, time.Now()
	c.eventually(patience, func() error {
		if n := len(log.of("broken")); n > launched {
			launched, quiet = n, time.Now()
		}
		if time.Since(quiet) < 15*time.Second {
			return fmt.Errorf("the %dth launch, in a pause, was %v ago", launched, time.Since(quiet))
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
	const broken = "kwok-linux-amd64" // the cheaper one
	c := newCluster(t)
	c.inject("cloud", "neverJoin", broken)
	c.manifests(class)
	c.millwright()
	log := c.watchClaims()
	c.manifests(pool("mixed", "amd64, arm64") + "---" +
		nodePolicy("mixed", "initialization", "launchTimeout: 20s, registrationTimeout: 30s, backoff: {failures: 2, initial: 10m}"))
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

// medianTimeOf is the median of so many measurements, one after the other.
func (c *cluster) medianTimeOf(name string, n int) time.Duration {
	c.Helper()
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = c.timeOf(fmt.Sprint(name, "-", i))
	}
	slices.Sort(all)
	c.Logf("%s: %v", name, all)
	return all[n/2]
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
