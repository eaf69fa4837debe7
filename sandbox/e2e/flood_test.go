package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/events/eventstest"
	"github.com/millwright-dev/millwright/cloud/aws/sqstest"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/sandbox/harness"
)

// flood is how many machines genuine messages are about, each of them many times
// over and in any order, and how many messages a second for how many seconds. Half of
// the machines are interrupted, about the others there is a recommendation.
type flood struct{ machines, rate, seconds int }

// sustained is how many messages a second have to be cleared.
const sustained = 1000

// More than a thousand genuine messages a second come for a minute. Every machine is
// acted upon once, the queue is cleared as fast as it fills, and memory does not grow
// with the messages. The ordinary run has a smaller flood, see
// TestMessagesOfAQueueDrainTheRightMachineOnceAndForgeriesNone.
func TestAThousandGenuineMessagesASecondAreEachActedUponOnce(t *testing.T) {
	if !*long {
		t.Skip("takes minutes; go test ./e2e -run AThousandGenuine -long")
	}
	c := newCluster(t)
	server, controller := c.queue()
	c.manifests(class)
	f := flood{machines: 60, rate: 1250, seconds: 60}
	if rate := f.run(c, server, controller); rate < sustained {
		t.Errorf("%.0f messages a second were cleared, want %d", rate, sustained)
	}
}

// queue starts a controller that reads the queue "interruptions" of an SQS.
func (c *cluster) queue() (*sqstest.Server, *harness.Controller) {
	c.Helper()
	server := sqstest.New(sqstest.Config{Queues: []string{"interruptions", "dead"}})
	web := httptest.NewServer(server)
	c.Cleanup(web.Close)
	return server, c.millwrightWith([]string{"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"},
		"--interruption-queue", "interruptions", "--interruption-dead-letter-queue", "dead",
		"--aws-region", "eu-west-1", "--aws-endpoint-url", web.URL)
}

// run makes the machines, lets the flood come, and returns how many messages a second
// were cleared while it came.
func (f flood) run(c *cluster, server *sqstest.Server, controller *harness.Controller) float64 {
	c.Helper()
	others := len(c.nodes())
	for i := range f.machines {
		c.manifests(loneClaim(fmt.Sprintf("lone-%d", i)))
	}
	c.eventually(patience, func() error { return c.initialized(others + f.machines) })
	const disrupted, taken = "karpenter_nodeclaims_disrupted_total", "millwright_interruption_messages_total"
	acted, heard, recorded := c.metric(controller, disrupted), c.metric(controller, taken), c.count(controller, taken, "Recorded")

	sent, rate := f.pour(c, server, controller)
	c.eventually(patience, func() error {
		if n := len(c.lone()); n != f.machines/2 {
			return fmt.Errorf("%d machines are left, want %d", n, f.machines/2)
		}
		return nil
	})
	for _, claim := range c.lone() {
		if !condition(claim, "Interrupted") || claim.GetDeletionTimestamp() != nil {
			c.Errorf("%s is not one of those that stay and are told", claim.GetName())
		}
	}
	if n := c.metric(controller, disrupted) - acted; int(n) != f.machines/2 {
		c.Errorf("%v machines were acted upon, want %d, each once", n, f.machines/2)
	}
	if n := c.count(controller, taken, "Recorded") - recorded; n != f.machines {
		c.Errorf("%d messages were put on record, want one for each of %d machines", n, f.machines)
	}
	if n := c.metric(controller, taken) - heard; int(n) < sent {
		c.Errorf("%v of %d messages were counted", n, sent)
	}
	return rate
}

// pour sends the messages and waits until the queue is empty. The rate is that of the
// messages that are cleared while others still come; messages that come up to two
// seconds late, and those that are tried again after their visibility timeout, are
// cleared afterwards.
func (f flood) pour(c *cluster, server *sqstest.Server, controller *harness.Controller) (sent int, rate float64) {
	c.Helper()
	bodies := f.bodies(c)
	const resident, cpu = "process_resident_memory_bytes", "process_cpu_seconds_total"
	memory, spent := c.metric(controller, resident), c.metric(controller, cpu)
	began, most := time.Now(), 0
	var sending sync.WaitGroup
	sending.Go(func() {
		r := rand.New(rand.NewPCG(3, 3))
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for sent < f.rate*f.seconds {
			<-tick.C
			for due := min(int(time.Since(began).Seconds()*float64(f.rate)), f.rate*f.seconds); sent < due; sent++ {
				if err := server.Send("interruptions", bodies[r.IntN(f.machines)], time.Duration(r.IntN(3))*time.Second); err != nil {
					c.Error(err)
				}
			}
			most = max(most, server.Counts("interruptions").Waiting)
		}
	})
	sending.Wait()
	left := server.Counts("interruptions").Waiting
	lasted := time.Since(began)
	rate = float64(sent-left) / lasted.Seconds()
	c.eventually(patience, func() error {
		if n := server.Counts("interruptions"); n.Waiting > 0 {
			return fmt.Errorf("%d messages wait", n.Waiting)
		}
		return nil
	})
	grown := (c.metric(controller, resident) - memory) / (1 << 20)
	c.Logf("%d messages, %d a second for %d s: %.0f a second were cleared meanwhile and the %d that were left within %.0f s; at most %d waited; %.1f s of the controller's CPU time; its memory grew by %.0f MiB, from %.0f",
		sent, f.rate, f.seconds, rate, left, (time.Since(began) - lasted).Seconds(), most, c.metric(controller, cpu)-spent, grown, memory/(1<<20))
	if grown > 128 {
		c.Errorf("memory has grown by %.0f MiB", grown)
	}
	return sent, rate
}

// bodies are one message for each machine.
func (f flood) bodies(c *cluster) []string {
	c.Helper()
	origin := eventstest.Origin{Account: "111122223333", Region: "eu-west-1", Time: time.Now()}
	bodies := make([]string, f.machines)
	for i := range bodies {
		e := interruption.Event{ID: fmt.Sprintf("e-%d", i), Kind: interruption.Spot, Machine: fmt.Sprintf("lone-%d", i)}
		if i%2 == 1 {
			e.Kind = interruption.Rebalance
		}
		var err error
		bodies[i], err = eventstest.Body(origin, e)
		c.must(err)
	}
	return bodies
}
