package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var disruptionRequests = schema.GroupVersionResource{Group: "millwright.dev", Version: "v1alpha1", Resource: "disruptionrequests"}

// request is the only DisruptionRequest in a phase.
func (c *cluster) request(phase string) (*unstructured.Unstructured, error) {
	c.Helper()
	list, err := c.dynamic.Resource(disruptionRequests).List(c.Context(), metav1.ListOptions{})
	c.must(err)
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("%d requests", len(list.Items))
	}
	r := &list.Items[0]
	if now, _, _ := unstructured.NestedString(r.Object, "status", "phase"); now != phase {
		return nil, fmt.Errorf("the request is %q, not %s", now, phase)
	}
	return r, nil
}

// annotated finds fault while a claim that is there lacks an annotation.
func (c *cluster) annotated(name, annotation string) error {
	for _, claim := range c.claims() {
		if claim.GetName() == name && claim.GetAnnotations()[annotation] == "" {
			return fmt.Errorf("claim %s has no annotation %s", name, annotation)
		}
	}
	return nil
}

// A machine is to be replaced once somebody has approved: with the controller
// killed at every step, from the question to the end of the old machine, there is
// one replacement and the pod runs there. With -long every life waits for the lease
// of the one before, as in production.
func TestKillingTheControllerInTheMiddleOfAnApprovedReplacementLaunchesOne(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	election := "--disable-leader-election"
	if *long {
		election += "=false"
	}
	told := newWebhook(c)
	controller := c.millwrightWith(told.environment(), election)
	log := c.watchClaims()
	c.manifests(class + "---" + disruptedPool("asked", "consolidateAfter: Never", "") + "---" + dweller("asked"))
	c.manifests(`
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: asked}
spec:
  nodePools: {names: [asked]}
  interruption: {rules: [{events: [Maintenance], action: Replace, approval: Required}]}
`)
	c.eventually(patience, c.running("dweller", 1))
	old := c.claims()[0].GetName()
	kill := func() {
		controller.Kill()
		controller = c.millwrightWith(told.environment(), election)
	}

	c.knob("interruptions", fmt.Sprintf(`[{"id": "e1", "kind": "Maintenance", "code": "Stop", "machine": %q, "notBefore": %q}]`,
		old, time.Now().Add(fortnight).UTC().Format(time.RFC3339)))
	c.eventually(patience, func() error { _, err := c.request("Proposed"); return err })
	kill()
	r, err := c.request("Proposed")
	c.must(err)
	if out, code := c.command("events"); code != 0 || !strings.Contains(out, old) || !strings.Contains(out, r.GetName()) || !strings.Contains(out, "Proposed") {
		c.Errorf("exit status %d: the machine and the request are not among the events:\n%s", code, out)
	}
	if out, code := c.command("approve", r.GetName()); code != 0 || !strings.Contains(out, "approved") {
		c.Fatalf("exit status %d: %s", code, out)
	}
	for _, reached := range []func() error{
		func() error { return c.annotated(old, "millwright.dev/replace") },
		func() error { return c.annotated(old, "millwright.dev/disruption") },
		func() error {
			if log.count() < 2 {
				return errors.New("there is no replacement yet")
			}
			return nil
		},
		func() error { return c.going(old) },
	} {
		c.eventually(patience, reached)
		kill()
	}
	c.eventually(patience, func() error { return c.without(old) })
	c.eventually(patience, c.running("dweller", 1))
	c.eventually(patience, c.accountedFor)
	c.eventually(patience, func() error { _, err := c.request("Done"); return err })
	if out, code := c.command("events"); code != 0 || !strings.Contains(out, old) || !strings.Contains(out, "Done") {
		c.Errorf("exit status %d: what came of it is not among the events:\n%s", code, out)
	}
	// A life that is killed may not have told of a phase that the next one ends.
	c.eventually(patience, func() error {
		return told.of("dev.millwright.disruptionrequest.done", "disruptionrequest/"+r.GetName())
	})
	if n := log.count(); n != 2 {
		c.Errorf("there were %d claims, want the old one and its replacement", n)
	}
}

// going finds fault while a claim is there and nobody has asked for its removal.
func (c *cluster) going(name string) error {
	for _, claim := range c.claims() {
		if claim.GetName() == name && claim.GetDeletionTimestamp() == nil {
			return fmt.Errorf("claim %s stays", name)
		}
	}
	return nil
}
