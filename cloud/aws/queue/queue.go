package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/awstime"
	"github.com/millwright-dev/millwright/cloud/aws/events"
)

const (
	// batch is how many messages SQS delivers at once at most.
	batch = 10
	// longPoll is how long a request waits for a message; SQS allows no more.
	longPoll = 20 * time.Second
	// visibility is for how long no other receiver gets a message. Putting a batch on record
	// takes well below a second; a spot machine has two minutes.
	visibility = 30 * time.Second
	// together is how many bytes of messages are sent at once at most.
	together = 200 << 10
	// answer is how long a request may take beyond what it waits.
	answer = 15 * time.Second
)

// Refusal is the attribute of a message in the dead-letter queue that says why it
// is there.
const Refusal = "Refusal"

// Config says which queue is read.
type Config struct {
	// AWS has the region and the credentials.
	AWS aws.Config
	// Queue and DeadLetter are each the name or the URL of a queue; DeadLetter may be
	// empty.
	Queue, DeadLetter string
	// Reader says which bodies count. Without an Account it is that of the queue.
	Reader events.Reader
}

// Queue is a cloud.Queue. It is safe for concurrent use.
type Queue struct {
	client *sqs.Client
	config Config

	mu     sync.Mutex
	source *source // nil until the queues have been found
}

// source is what is known once the queues have been found.
type source struct {
	url, deadLetter string
	reader          events.Reader
}

var _ cloud.Queue = (*Queue)(nil)

// New makes a Queue. It does not call AWS.
func New(c Config) (*Queue, error) {
	for flag, name := range map[string]string{"--interruption-queue": c.Queue, "--interruption-dead-letter-queue": c.DeadLetter} {
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
	}
	if isURL(c.Queue) && c.Reader.Account == "" && accountOf(c.Queue) == "" {
		return nil, fmt.Errorf("--aws-account-id: required; the URL %s does not name the account", c.Queue)
	}
	return &Queue{client: sqs.NewFromConfig(c.AWS), config: c}, nil
}

// Receive is cloud.Queue's.
func (q *Queue) Receive(ctx context.Context) ([]cloud.Message, error) {
	s, err := q.find(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, longPoll+answer)
	defer cancel()
	out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &s.url, MaxNumberOfMessages: batch,
		WaitTimeSeconds: int32(longPoll / time.Second), VisibilityTimeout: int32(visibility / time.Second),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameSentTimestamp, types.MessageSystemAttributeNameApproximateReceiveCount},
	})
	if err != nil {
		return nil, q.explain("sqs:ReceiveMessage", q.config.Queue, err)
	}
	now := awstime.Of(out.ResultMetadata)
	messages := make([]cloud.Message, len(out.Messages))
	for i := range out.Messages {
		messages[i] = read(s, &out.Messages[i], now)
	}
	return messages, nil
}

// read makes of a message what it says.
func read(s *source, m *types.Message, now time.Time) cloud.Message {
	out := cloud.Message{Handle: m}
	if ms, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64); err == nil {
		out.Sent = time.UnixMilli(ms).UTC()
	}
	if n, err := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)]); err == nil {
		out.Again = n > 1
	}
	list, refused := s.reader.Read([]byte(aws.ToString(m.Body)), now)
	if refused.Refusal != events.Irrelevant {
		out.Events, out.Refusal, out.Why = list, string(refused.Refusal), refused.Why
	}
	return out
}

// Settle is cloud.Queue's.
func (q *Queue) Settle(ctx context.Context, messages []cloud.Message) error {
	s, err := q.find(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	var refused, done []cloud.Message
	for _, m := range messages {
		switch {
		case m.Outcome == cloud.Refused:
			refused = append(refused, m)
		case m.Outcome != cloud.Later:
			done = append(done, m)
		}
	}
	kept, err := q.keep(ctx, s, refused)
	return errors.Join(err, q.remove(ctx, s, append(done, kept...)))
}

// keep puts messages that do not count into the dead-letter queue, if there is one,
// and returns those that are there.
func (q *Queue) keep(ctx context.Context, s *source, messages []cloud.Message) ([]cloud.Message, error) {
	if s.deadLetter == "" {
		return nil, nil
	}
	var kept []cloud.Message
	for len(messages) > 0 {
		n, size := 0, 0
		var entries []types.SendMessageBatchRequestEntry
		for ; n < len(messages) && (n == 0 || size+len(body(messages[n])) <= together); n++ {
			size += len(body(messages[n]))
			entries = append(entries, types.SendMessageBatchRequestEntry{
				Id: aws.String(strconv.Itoa(n)), MessageBody: aws.String(body(messages[n])),
				MessageAttributes: map[string]types.MessageAttributeValue{Refusal: {DataType: aws.String("String"), StringValue: &messages[n].Refusal}},
			})
		}
		out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &s.deadLetter, Entries: entries})
		if err != nil {
			return kept, q.explain("sqs:SendMessage", q.config.DeadLetter, err)
		}
		for _, sent := range out.Successful {
			if i, err := strconv.Atoi(aws.ToString(sent.Id)); err == nil && i < n {
				kept = append(kept, messages[i])
			}
		}
		messages = messages[n:]
	}
	return kept, nil
}

func body(m cloud.Message) string { return aws.ToString(m.Handle.(*types.Message).Body) }

func (q *Queue) remove(ctx context.Context, s *source, messages []cloud.Message) error {
	if len(messages) == 0 {
		return nil
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, len(messages))
	for i, m := range messages {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.Handle.(*types.Message).ReceiptHandle}
	}
	out, err := q.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &s.url, Entries: entries})
	if err != nil {
		return q.explain("sqs:DeleteMessage", q.config.Queue, err)
	}
	if len(out.Failed) > 0 {
		first := out.Failed[0]
		return fmt.Errorf("deleting %d of %d messages: %s: %s", len(out.Failed), len(entries), aws.ToString(first.Code), aws.ToString(first.Message))
	}
	return nil
}
