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
)

// A thousand genuine messages a second, each of them many times over and in any
// order: half of the machines are interrupted, about the others there is a
// recommendation. Every machine is acted upon once, and memory does not grow with the
// messages.
func TestAThousandGenuineMessagesASecondAreEachActedUponOnce(t *testing.T) {
	if !*long {
		t.Skip("takes minutes; go test ./e2e -run AThousandGenuine -long")
	}
	const machines, rate, seconds = 60, 1000, 30
	c := newCluster(t)
	server := sqstest.New(sqstest.Config{Queues: []string{"interruptions"}})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	controller := c.millwrightWith([]string{"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"},
		"--interruption-queue", "interruptions", "--aws-region", "eu-west-1", "--aws-endpoint-url", web.URL)
	c.manifests(class)
	for i := range machines {
		c.manifests(loneClaim(fmt.Sprintf("lone-%d", i)))
	}
	c.eventually(patience, func() error { return c.initialized(machines) })

	origin := eventstest.Origin{Account: "111122223333", Region: "eu-west-1", Time: time.Now()}
	bodies := make([]string, machines)
	for i := range bodies {
		e := interruption.Event{ID: fmt.Sprintf("e-%d", i), Kind: interruption.Spot, Machine: fmt.Sprintf("lone-%d", i)}
		if i%2 == 1 {
			e.Kind = interruption.Rebalance
		}
		var err error
		bodies[i], err = eventstest.Body(origin, e)
		c.must(err)
	}
	const resident, cpu, taken = "process_resident_memory_bytes", "process_cpu_seconds_total", "millwright_interruption_messages_total"
	memory, spent := c.metric(controller, resident), c.metric(controller, cpu)
	began, sent, most := time.Now(), 0, 0
	var sending sync.WaitGroup
	sending.Go(func() {
		r := rand.New(rand.NewPCG(3, 3))
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for sent < rate*seconds {
			<-tick.C
			for due := min(int(time.Since(began).Seconds()*rate), rate*seconds); sent < due; sent++ {
				if err := server.Send("interruptions", bodies[r.IntN(machines)], time.Duration(r.IntN(3))*time.Second); err != nil {
					t.Error(err)
				}
			}
			most = max(most, server.Counts("interruptions").Waiting)
		}
	})
	sending.Wait()
	c.eventually(patience, func() error {
		if n := server.Counts("interruptions"); n.Waiting > 0 {
			return fmt.Errorf("%d messages wait", n.Waiting)
		}
		return nil
	})
	took := time.Since(began)
	grown := (c.metric(controller, resident) - memory) / (1 << 20)
	t.Logf("%d messages in %.1f s, %.0f a second; at most %d waited; %.1f s of the controller's CPU time; its memory grew by %.0f MiB, from %.0f",
		sent, took.Seconds(), float64(sent)/took.Seconds(), most, c.metric(controller, cpu)-spent, grown, memory/(1<<20))

	c.eventually(patience, func() error {
		if n := len(c.claims()); n != machines/2 {
			return fmt.Errorf("%d machines are left, want %d", n, machines/2)
		}
		return nil
	})
	for _, claim := range c.claims() {
		if !condition(&claim, "Interrupted") || claim.GetDeletionTimestamp() != nil {
			t.Errorf("%s is not one of those that stay and are told", claim.GetName())
		}
	}
	if n := c.metric(controller, "karpenter_nodeclaims_disrupted_total"); n != machines/2 {
		t.Errorf("%v machines were acted upon, want %d, each once", n, machines/2)
	}
	if n := c.counted(controller, taken, "Recorded"); n != fmt.Sprint(machines) {
		t.Errorf("%s messages were put on record, want one for each of %d machines", n, machines)
	}
	if n := c.metric(controller, taken); n < float64(sent) {
		t.Errorf("%v of %d messages were counted", n, sent)
	}
	if grown > 128 {
		t.Errorf("memory has grown by %.0f MiB", grown)
	}
}
