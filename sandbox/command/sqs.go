package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os/signal"
	"path"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/cloud/aws/events/eventstest"
	"github.com/millwright-dev/millwright/cloud/aws/sqstest"
	"github.com/millwright-dev/millwright/engine/interruption"
)

// What the played queue's messages say of where they come from.
const (
	sqsAccount = "111122223333"
	sqsRegion  = "eu-west-1"
)

func newSQS() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "sqs",
		Short: "Play SQS until interrupted, with the queues interruptions and dead",
		Long: `Play SQS until interrupted, with the queues interruptions and dead. The printed
variables let millwright run read them; "sandbox inject interruption --sqs" sends
messages.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return playSQS(ctx, cmd.OutOrStdout(), listen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:4566", "address to listen on")
	return cmd
}

func playSQS(ctx context.Context, out io.Writer, listen string) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	server := &http.Server{
		Handler:           sqstest.New(sqstest.Config{Queues: []string{"interruptions", "dead"}, Account: sqsAccount}),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx }, // ends long polls
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	at := "http://" + listener.Addr().String()
	fmt.Fprintf(out, "export AWS_ENDPOINT_URL=%s AWS_REGION=%s AWS_ACCESS_KEY_ID=sandbox AWS_SECRET_ACCESS_KEY=sandbox\n", at, sqsRegion)
	fmt.Fprintf(out, "export INTERRUPTION_QUEUE=%[1]s/%[2]s/interruptions INTERRUPTION_DEAD_LETTER_QUEUE=%[1]s/%[2]s/dead\n", at, sqsAccount)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

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
		return fmt.Errorf("--sqs: %q is not the URL of a queue, as sandbox sqs prints it", d.queue)
	}
	origin := eventstest.Origin{Account: sqsAccount, Region: sqsRegion, Time: now}
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
