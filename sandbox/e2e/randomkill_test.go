package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/sandbox/harness"
)

// Databases on spot machines, of which all drift and two are interrupted, while the controller
// is killed again and again at random moments: one machine is launched for each that goes, and
// none ends with a volume attached to it.
func TestAControllerThatIsKilledAtRandomReplacesEachMachineOnce(t *testing.T) {
	if !*long {
		t.Skip("takes minutes; go test ./e2e -run KilledAtRandom -long")
	}
	t.Parallel()
	const size, interrupted, trouble = 8, 2, 75 * time.Second
	c := newOnEC2(t, "--node-failure-fast", "--set", "detach-delay=2s")
	random := random(t)
	controller := c.controllerAlone()
	log := c.watchClaims()
	pool := strings.Replace(ec2Pool("db", "spot"), "consolidateAfter: 1s, consolidationPolicy: WhenEmpty", "consolidateAfter: Never", 1)
	c.manifests(ec2Class("db", "amiSelectorTerms: [{alias: al2023@latest}]") + "---" + pool + "---" + strings.Replace(statefulSet("db", size), `cpu: "1"`, `cpu: "100"`, 1))
	c.eventually(patience, c.running("app=db", size))
	old := names(c.claims())

	c.drift("db", "2")
	for _, node := range c.nodesOf("app=db")[:interrupted] {
		c.inject("aws", "spot", node, "--notice", "10m")
	}
	deaths := 0
	for end := time.Now().Add(trouble); time.Now().Before(end); deaths++ {
		<-time.After(time.Duration(200+random.IntN(3500)) * time.Millisecond) // the trouble's own pace
		controller.Kill()
		controller = c.controllerAlone()
	}
	c.eventually(patience, func() error { return errors.Join(c.replaced(old, size), c.running("app=db", size)()) })
	c.eventually(patience, c.alone(size))
	c.eventually(patience, func() error {
		for name, n := range c.nodes() {
			if len(n.Spec.Taints) > 0 {
				return fmt.Errorf("node %s has the taints %v", name, n.Spec.Taints)
			}
		}
		return nil
	})
	c.Logf("killed %d times; %d claims for %d databases", deaths, log.count(), size)
	if claims, instances := log.count(), c.launched("db"); claims != 2*size || instances != 2*size {
		c.Errorf("%d claims and %d instances for %d machines and as many replacements", claims, instances, size)
	}
	c.detachedFirst(size)
}

// controllerAlone starts a controller that waits for no other one's lease.
func (c *onEC2) controllerAlone() *harness.Controller {
	c.Helper()
	return c.run(c.aws.Environment(), "--provider", "aws", "--disable-leader-election")
}
