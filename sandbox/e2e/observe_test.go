package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A process that observes says of a cluster whose machines have drifted, and which
// has a pod without a machine, what it would do, and does none of it.
func TestAnObserverSaysWhatItWouldDoAndWritesNothingElse(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	controller := c.millwright()
	c.manifests(class + "---" + disruptedPool("blue", `consolidateAfter: Never, budgets: [{nodes: "100%"}]`, ""))
	c.manifests(spread("web", 2))
	c.eventually(patience, c.running("app=web", 2))
	c.eventually(patience, c.accountedFor)
	controller.Kill()
	if c.unwritten(time.Time{}) == nil {
		t.Fatal("nothing is known to be written by Millwright, so this shows nothing")
	}
	old := names(c.claims())

	c.drift("blue", "2")
	c.scale("web", 3)
	began := time.Now()
	c.millwrightWith(nil, "--mode", "observe")
	for _, claim := range old {
		c.eventually(patience, func() error { return c.observerSays("WouldDisrupt", claim) })
	}
	c.eventually(patience, func() error { return c.observerSays("Nominated", "web-") })
	c.throughout(10*time.Second, func() error {
		if now := names(c.claims()); !slices.Equal(now, old) {
			return fmt.Errorf("claims %v, were %v", now, old)
		}
		if n := len(c.machines()); n != len(old) {
			return fmt.Errorf("%d machines, were %d", n, len(old))
		}
		return c.unwritten(began)
	})
}

// observerSays finds fault unless an observer's event of a reason is about an object
// whose name begins like that.
func (c *cluster) observerSays(reason, object string) error {
	events, err := c.client.EventsV1().Events("").List(c.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	var said []string
	for _, e := range events.Items {
		if e.ReportingController != "millwright-observer" && e.DeprecatedSource.Component != "millwright-observer" {
			continue
		}
		said = append(said, e.Reason+" "+e.Regarding.Name)
		if e.Reason == reason && strings.HasPrefix(e.Regarding.Name, object) {
			return nil
		}
	}
	return fmt.Errorf("no event %s about %s of an observer, only %v", reason, object, said)
}

// unwritten finds fault with what Millwright has written since a moment.
func (c *cluster) unwritten(since time.Time) error {
	check := func(obj metav1.Object) error {
		for _, f := range obj.GetManagedFields() {
			if strings.HasPrefix(f.Manager, "millwright") && f.Time.After(since) {
				return fmt.Errorf("%s was written by %s at %v", obj.GetName(), f.Manager, f.Time)
			}
		}
		return nil
	}
	for _, n := range c.nodes() {
		if err := check(&n); err != nil {
			return err
		}
	}
	for _, claim := range c.claims() {
		if err := check(&claim); err != nil {
			return err
		}
	}
	pools, err := c.dynamic.Resource(nodePools).List(c.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, np := range pools.Items {
		if err := check(&np); err != nil {
			return err
		}
	}
	for _, p := range c.pods("app=web") {
		if err := check(&p); err != nil {
			return err
		}
	}
	return nil
}
