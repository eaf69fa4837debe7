package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/events/eventstest"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

// delivery says how an event is told of by messages.
type delivery struct {
	queue  string
	copies int
	forged int
	delay  time.Duration
}

// send tells of an event, or of forged ones in its place.
func (d delivery) send(ctx context.Context, out io.Writer, e interruption.Event, now time.Time) error {
	u, err := url.Parse(d.queue)
	if err != nil || u.Host == "" || path.Base(u.Path) == "/" {
		return fmt.Errorf("--sqs: %q is not the URL of a queue, as sandbox aws up prints it", d.queue)
	}
	origin := eventstest.Origin{Account: aws.Account, Region: aws.Region, Time: now}
	genuine, err := eventstest.Body(origin, e)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(uint64(now.UnixNano()), 0))
	stranger := interruption.Event{ID: "stranger", Kind: interruption.Spot, Machine: "somebody-elses"}
	n := max(d.copies, d.forged)
	for range n {
		body := genuine
		if d.forged > 0 {
			body = eventstest.Forge(r, origin, e, stranger)
		}
		if err := d.post(ctx, u, body); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "%d messages sent\n", n)
	return err
}

func (d delivery) post(ctx context.Context, u *url.URL, body string) error {
	in, err := json.Marshal(map[string]any{"QueueUrl": d.queue, "MessageBody": body, "DelaySeconds": int(d.delay.Seconds())})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.Scheme+"://"+u.Host, bytes.NewReader(in))
	if err != nil {
		return err
	}
	req.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("sending to the queue: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 500)) // the status says enough
		return fmt.Errorf("sending to the queue: %s: %s", answer.Status, text)
	}
	return nil
}
