package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/sandbox/harness"
)

// Two replicas, of which the leader is frozen for longer than its lease while it launches,
// replaces and drains, and goes on where it was when the other leads: one machine is launched for
// each that goes, and none ends with a volume attached to it.
func TestALeaderThatIsFrozenLeavesNothingToBeDoneTwice(t *testing.T) {
	if !*long {
		t.Skip("takes minutes; go test ./e2e -run LeaderThatIsFrozen -long")
	}
	t.Parallel()
	const size, frozen = 6, 30 * time.Second
	c := newOnEC2(t, "--set", "detach-delay=2s")
	random := random(t)
	replicas := map[string]*harness.Controller{}
	takeOver := func(than string) (holder string) {
		c.eventually(patience, func() error {
			lease, err := c.client.CoordinationV1().Leases(harness.Namespace).Get(c.Context(), "karpenter-leader-election", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if holder = holderOf(lease); holder == "" || holder == than {
				return fmt.Errorf("the lease is held by %q", holder)
			}
			return nil
		})
		return holder
	}
	first := c.controller()
	leader := takeOver("")
	replicas[leader], replicas[""] = first, c.controller()
	log := c.watchClaims()
	pool := strings.Replace(ec2Pool("db", "on-demand"), "consolidateAfter: 1s, consolidationPolicy: WhenEmpty", "consolidateAfter: Never", 1)
	freeze := func() {
		<-time.After(time.Duration(500+random.IntN(4000)) * time.Millisecond) // at a stage that differs
		process := replicas[leader]
		process.Freeze()
		next := takeOver(leader)
		<-time.After(frozen - 20*time.Second)
		process.Thaw()
		if replicas[next] == nil {
			replicas[next] = replicas[""]
		}
		delete(replicas, leader) // it ends, and is started again under another name
		replicas[""], leader = process, next
	}
	c.manifests(ec2Class("db", "amiSelectorTerms: [{alias: al2023@latest}]") + "---" + pool + "---" + strings.Replace(statefulSet("db", size), `cpu: "1"`, `cpu: "100"`, 1))
	freeze()
	c.eventually(patience, c.running("app=db", size))
	old := names(c.claims())
	c.drift("db", "2")
	for range 3 {
		freeze()
	}
	c.eventually(patience, func() error { return errors.Join(c.replaced(old, size), c.running("app=db", size)()) })
	c.eventually(patience, c.alone(size))
	if claims, instances := log.count(), c.launched("db"); claims != 2*size || instances != 2*size {
		c.Errorf("%d claims and %d instances for %d machines and as many replacements", claims, instances, size)
	}
	c.detachedFirst(size)
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
