package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millwright-dev/millwright/cloud/aws/events/eventstest"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/sandbox/harness"
)

const announcements = "millwright.dev/announcements"

// forgeries are how many messages are forged; with -long as many as somebody who
// means it would send.
func forgeries() int {
	if *long {
		return 10_000
	}
	return 500
}

// The controller reads an SQS queue with AWS's own client. First it is flooded with
// forged and damaged messages about a machine; then a genuine spot warning about
// another one comes, several times over; and last a flood of genuine ones.
func TestMessagesOfAQueueDrainTheRightMachineOnceAndForgeriesNone(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	server, controller := c.queue()
	c.manifests(class)
	for _, pool := range []string{"victim", "bystander"} {
		c.manifests(disruptedPool(pool, "consolidateAfter: Never", ""))
		c.manifests(dweller(pool))
	}
	c.eventually(patience, c.running("dweller", 2))
	machines := c.byPool()
	victim, bystander := machines["victim"].GetName(), machines["bystander"].GetName()
	before := c.uids("app=bystander")

	r := rand.New(rand.NewPCG(7, 7))
	origin := eventstest.Origin{Account: "111122223333", Region: "eu-west-1", Time: time.Now()}
	for range forgeries() {
		c.must(server.Send("interruptions", eventstest.Forge(r, origin,
			interruption.Event{ID: "forged", Kind: interruption.Spot, Machine: bystander},
			interruption.Event{ID: "other", Kind: interruption.Spot, Machine: "somebody-elses"}), 0))
	}
	c.eventually(patience, func() error {
		if n := server.Counts("interruptions").Waiting; n > 0 {
			return fmt.Errorf("%d messages wait", n)
		}
		return nil
	})
	for pool, claim := range c.byPool() {
		if claim.GetDeletionTimestamp() != nil || claim.GetAnnotations()[announcements] != "" || condition(claim, "Interrupted") {
			t.Fatalf("a forged message did something to the machine of %s: %v", pool, claim.Object)
		}
	}

	if n := c.metric(controller, "millwright_interruption_messages_total"); n < float64(forgeries()) {
		t.Errorf("%v of %d forged messages were counted", n, forgeries())
	}

	origin.Time = time.Now()
	for _, state := range []interruption.Event{{ID: "genuine", Kind: interruption.Spot}, {ID: "again", Kind: interruption.Spot}} {
		state.Machine = victim
		body, err := eventstest.Body(origin, state)
		c.must(err)
		for range 5 {
			c.must(server.Send("interruptions", body, 0))
		}
	}
	c.eventually(patience, func() error {
		for _, claim := range c.claims() {
			if claim.GetName() == victim {
				return fmt.Errorf("the machine %s is still there", victim)
			}
		}
		return nil
	})
	c.eventually(patience, c.running("dweller", 2))
	if _, stays := c.byPool()["bystander"]; !stays || c.uids("app=bystander") != before {
		t.Error("the machine that only forged messages were about has not been left alone")
	}
	if n := c.counted(controller, `karpenter_nodeclaims_disrupted_total{`, `reason="spot_interrupted"`); n != "1" {
		t.Errorf("%s machines were disrupted for spot interruptions", n)
	}
	c.Logf("%d forged messages: %v in the dead-letter queue", forgeries(), server.Refusals("dead", "Refusal"))
	flood{machines: 8, rate: 500, seconds: 4}.run(c, server, controller)
}

// byPool are the claims by the pool that they are of.
func (c *cluster) byPool() map[string]*unstructured.Unstructured {
	c.Helper()
	out := map[string]*unstructured.Unstructured{}
	for _, claim := range c.claims() {
		out[claim.GetLabels()["karpenter.sh/nodepool"]] = &claim
	}
	return out
}

// lone are the claims of no pool.
func (c *cluster) lone() []*unstructured.Unstructured {
	c.Helper()
	var out []*unstructured.Unstructured
	for _, claim := range c.claims() {
		if strings.HasPrefix(claim.GetName(), "lone-") {
			out = append(out, &claim)
		}
	}
	return out
}

// count is the value of a counter that may not have begun yet.
func (c *cluster) count(controller *harness.Controller, texts ...string) int {
	c.Helper()
	text := c.counted(controller, texts...)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	c.must(err)
	return n
}

// counted is the value of the one series that has all of some texts.
func (c *cluster) counted(controller *harness.Controller, texts ...string) string {
	c.Helper()
	answer, err := http.Get(controller.Metrics)
	c.must(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	c.must(err)
	var found []string
	for line := range strings.Lines(string(body)) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			found = append(found, strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]))
		}
	}
	return strings.Join(found, "+")
}
