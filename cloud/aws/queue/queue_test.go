package queue_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/events"
	"github.com/millwright-dev/millwright/cloud/aws/events/eventstest"
	"github.com/millwright-dev/millwright/cloud/aws/queue"
	"github.com/millwright-dev/millwright/cloud/aws/rights"
	"github.com/millwright-dev/millwright/cloud/aws/sqstest"
	"github.com/millwright-dev/millwright/engine/interruption"
)

const (
	ours    = "i-0aa11bb22cc33dd44"
	foreign = "i-0ffffffffffffffff"
)

// world is a queue and its dead-letter queue.
type world struct {
	*testing.T
	*sqstest.Server
	sdk aws.Config
}

// direct sends requests to a handler without a network: a connection that breaks
// while a response is read costs the time for which its messages are hidden.
type direct struct{ http.Handler }

// Do is aws.HTTPClient's.
func (d direct) Do(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), r.Context().Err()
}

func newWorld(t *testing.T, c sqstest.Config) *world {
	c.Queues = []string{"main", "dead"}
	server := sqstest.New(c)
	return &world{t, server, aws.Config{
		Region: "eu-west-1", HTTPClient: direct{server},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
		}),
	}}
}

func (w *world) open(c queue.Config) *queue.Queue {
	w.Helper()
	c.AWS = w.sdk
	c.Reader.Region, c.Reader.MaxAge = "eu-west-1", 15*time.Minute
	q, err := queue.New(c)
	w.must(err)
	return q
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func origin() eventstest.Origin {
	return eventstest.Origin{Account: "111122223333", Region: "eu-west-1", Time: time.Now()}
}

func (w *world) send(e interruption.Event) {
	w.Helper()
	body, err := eventstest.Body(origin(), e)
	w.must(err)
	w.must(w.Send("main", body, 0))
}

// settle receives a batch and settles it with an outcome for what counts.
func (w *world) settle(q *queue.Queue, outcome cloud.Outcome) []cloud.Message {
	w.Helper()
	list, err := q.Receive(w.Context())
	w.must(err)
	for i := range list {
		list[i].Outcome = outcome
		if list[i].Refusal != "" {
			list[i].Outcome = cloud.Refused
		}
	}
	w.must(q.Settle(w.Context(), list))
	return list
}

func TestTheRealClientReadsEveryKindThatAWSTells(t *testing.T) {
	w := newWorld(t, sqstest.Config{})
	q := w.open(queue.Config{Queue: "main"})
	for _, e := range []interruption.Event{
		{ID: "1", Kind: interruption.Spot}, {ID: "2", Kind: interruption.Rebalance}, {ID: "3", Kind: interruption.Stopped},
		{ID: "4", Kind: interruption.Terminated}, {ID: "5", Kind: interruption.Reservation},
		{ID: "arn:6", Kind: interruption.Maintenance, Code: interruption.Stop, NotBefore: time.Now().Add(time.Hour)},
	} {
		e.Machine = ours
		w.send(e)
		list := w.settle(q, cloud.Recorded)
		if len(list) != 1 || len(list[0].Events) != 1 {
			t.Fatalf("%s: %+v", e.Kind, list)
		}
		got := list[0].Events[0]
		if got.ID != e.ID || got.Kind != e.Kind || got.Code != e.Code || got.Machine != ours || time.Since(list[0].Sent).Abs() > time.Minute {
			t.Errorf("%s: %+v, sent %v", e.Kind, got, list[0].Sent)
		}
	}
	if c := w.Counts("main"); c.Deleted != 6 || c.Waiting != 0 {
		t.Errorf("counts %+v", c)
	}
}

func TestOnlyWhatNothingIsLostWithIsDeleted(t *testing.T) {
	for outcome, deleted := range map[cloud.Outcome]int{
		cloud.Recorded: 1, cloud.Duplicate: 1, cloud.Stranger: 1, cloud.Irrelevant: 1, cloud.Later: 0,
	} {
		w := newWorld(t, sqstest.Config{})
		w.send(interruption.Event{ID: "1", Kind: interruption.Spot, Machine: ours})
		w.settle(w.open(queue.Config{Queue: "main", DeadLetter: "dead"}), outcome)
		if c := w.Counts("main"); c.Deleted != deleted || c.Waiting != 1-deleted || w.Counts("dead").Waiting != 0 {
			t.Errorf("%s: %+v", outcome, c)
		}
	}
}

func TestAMessageSaysWhetherItWasDeliveredBefore(t *testing.T) {
	w := newWorld(t, sqstest.Config{})
	w.must(w.Send("main", "noise", 0))
	q, client := w.open(queue.Config{Queue: "main"}), sqs.NewFromConfig(w.sdk)
	url, err := client.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("main")})
	w.must(err)
	for _, again := range []bool{false, true, true} {
		list := w.settle(q, cloud.Later)
		if len(list) != 1 || list[0].Again != again || list[0].Why == "" {
			t.Fatalf("received %+v", list)
		}
		_, err := client.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{
			QueueUrl: url.QueueUrl, ReceiptHandle: list[0].Handle.(*types.Message).ReceiptHandle,
		})
		w.must(err)
	}
}

// dated answers with the time of another clock, as AWS does with that of its own.
type dated struct {
	http.Handler
	shift time.Duration
}

// ServeHTTP is http.Handler's.
func (d dated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", time.Now().Add(d.shift).UTC().Format(http.TimeFormat))
	d.Handler.ServeHTTP(w, r)
}

// The events and the queue have AWS's time, of which this process's clock is 20 minutes ahead or behind.
func TestAClockThatIsWrongLosesNoMessage(t *testing.T) {
	for _, shift := range []time.Duration{20 * time.Minute, -20 * time.Minute} {
		w := newWorld(t, sqstest.Config{})
		w.sdk.HTTPClient = direct{dated{w.Server, shift}}
		theirs := origin()
		theirs.Time = time.Now().Add(shift)
		body, err := eventstest.Body(theirs, interruption.Event{ID: "1", Kind: interruption.Spot, Machine: ours})
		w.must(err)
		w.must(w.Send("main", body, 0))
		if list := w.settle(w.open(queue.Config{Queue: "main"}), cloud.Recorded); len(list) != 1 || len(list[0].Events) != 1 {
			t.Errorf("%v: %+v", shift, list)
		}
	}
}

func TestWhatDoesNotCountIsKept(t *testing.T) {
	stale := origin()
	stale.Time = time.Now().Add(-time.Hour)
	old, err := eventstest.Body(stale, interruption.Event{ID: "1", Kind: interruption.Spot, Machine: ours})
	if err != nil {
		t.Fatal(err)
	}
	bodies := []string{old, "noise", strings.Repeat("x", 250<<10), strings.Repeat("y", 250<<10)}
	for _, dead := range []string{"", "dead"} {
		w := newWorld(t, sqstest.Config{})
		for _, b := range bodies {
			w.must(w.Send("main", b, 0))
		}
		q := w.open(queue.Config{Queue: "main", DeadLetter: dead})
		for received := 0; received < len(bodies); {
			received += len(w.settle(q, cloud.Recorded))
		}
		kept := w.Refusals("dead", queue.Refusal)
		if dead == "" && (w.Counts("main").Waiting != len(bodies) || len(kept) > 0) {
			t.Errorf("without a dead-letter queue: %+v, %v", w.Counts("main"), kept)
		}
		if dead != "" && (w.Counts("main").Waiting != 0 || kept["Malformed"] != 3 || kept["Stale"] != 1) {
			t.Errorf("with a dead-letter queue: %+v, %v", w.Counts("main"), kept)
		}
	}
}

func TestForgeriesAnnounceNothingAboutOurMachines(t *testing.T) {
	const bodies = 300
	w := newWorld(t, sqstest.Config{})
	r := rand.New(rand.NewPCG(7, 7))
	for range bodies {
		w.must(w.Send("main", eventstest.Forge(r, origin(),
			interruption.Event{ID: "1", Kind: interruption.Spot, Machine: ours}, interruption.Event{ID: "2", Kind: interruption.Stopped, Machine: foreign}), 0))
	}
	q := w.open(queue.Config{Queue: "main", DeadLetter: "dead"})
	strangers := 0
	for w.Counts("main").Waiting > 0 {
		for _, m := range w.settle(q, cloud.Stranger) {
			for _, e := range m.Events {
				if e.Machine == ours {
					t.Fatalf("an event of a forged message: %+v", e)
				}
				strangers++
			}
		}
	}
	kept := w.Refusals("dead", queue.Refusal)
	for _, reason := range []events.Refusal{events.Malformed, events.Unknown, events.Foreign, events.Stale} {
		if kept[string(reason)] == 0 {
			t.Errorf("none is refused as %s: %v", reason, kept)
		}
	}
	if got := w.Counts("dead").Waiting; got+strangers > bodies || got < bodies/2 {
		t.Errorf("%d kept and %d about strangers, of %d", got, strangers, bodies)
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	w := newWorld(t, sqstest.Config{})
	for name, want := range map[string]string{
		"arn:aws:sqs:eu-west-1:111122223333:main": "is an ARN",
		"main.fifo":     "FIFO",
		"two words":     "neither the name nor the URL",
		"https:///main": "is not the URL of a queue",
		"https://sqs.eu-west-1.amazonaws.com/nowhere": "--aws-account-id: required",
	} {
		if _, err := queue.New(queue.Config{AWS: w.sdk, Queue: name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	q := w.open(queue.Config{Queue: "absent"})
	if _, err := q.Receive(t.Context()); err == nil || !strings.Contains(err.Error(), "the queue absent does not exist in region eu-west-1") {
		t.Errorf("absent: %v", err)
	}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.open(queue.Config{Queue: "main"}).Receive(cut); !errors.Is(err, context.Canceled) {
		t.Errorf("cut off: %v", err)
	}
}

func TestAQueueThatIsNotThereIsMissedUntilItIs(t *testing.T) {
	w := newWorld(t, sqstest.Config{})
	var record rights.Record
	record.Watch(&w.sdk)
	for _, tt := range []struct{ queue, missing string }{
		{"absent", "sqs:ReceiveMessage: The specified queue does not exist."}, {"main", ""},
	} {
		w.must(w.Send("main", "noise", 0)) // answered at once
		_, err := w.open(queue.Config{Queue: "http://any/111122223333/" + tt.queue}).Receive(t.Context())
		if got := strings.Join(record.Missing(), ", "); got != tt.missing || (err == nil) != (tt.missing == "") {
			t.Errorf("of %s missing is %q, %v", tt.queue, got, err)
		}
	}
}

func TestRegionsAreReadOffURLs(t *testing.T) {
	for name, want := range map[string]string{
		"https://sqs.eu-west-1.amazonaws.com/111122223333/q":      "eu-west-1",
		"https://eu-central-1.queue.amazonaws.com/111122223333/q": "eu-central-1",
		"https://sqs.cn-north-1.amazonaws.com.cn/111122223333/q":  "cn-north-1",
		"http://127.0.0.1:1/111122223333/q":                       "",
		"q":                                                       "",
	} {
		if got := queue.RegionOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
