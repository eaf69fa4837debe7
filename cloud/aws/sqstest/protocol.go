package sqstest

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// request has the fields of all operations.
type request struct {
	MessageBody       string
	DelaySeconds      int
	MessageAttributes map[string]attribute

	MaxNumberOfMessages int
	WaitTimeSeconds     int
	VisibilityTimeout   *int
	ReceiptHandle       string
	Entries             []entry
}

// entry is one of a batch.
type entry struct {
	Id                string
	ReceiptHandle     string
	MessageBody       string
	DelaySeconds      int
	MessageAttributes map[string]attribute
}

var errNoQueue = &wire.Error{Code: "QueueDoesNotExist", Query: "AWS.SimpleQueueService.NonExistentQueue", Message: "The specified queue does not exist."}

// ServeHTTP is http.Handler's.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call, err := wire.Read(r)
	var answer any
	if err == nil {
		answer, err = s.Handle(call)
	}
	wire.Write(w, call, answer, err)
}

// Handle is a [wire.Handler].
func (s *Server) Handle(call *wire.Request) (any, error) {
	var in request
	if err := wire.Bind(call.Input, &in); err != nil {
		return nil, err
	}
	name := NameOf(call)
	s.mu.Lock()
	_, exists := s.queues[name]
	s.mu.Unlock()
	if !exists {
		return nil, errNoQueue
	}
	switch call.Operation.Name {
	case "GetQueueUrl":
		return map[string]any{"QueueUrl": fmt.Sprintf("http://%s/%s/%s", call.Host, s.config.Account, name)}, nil
	case "GetQueueAttributes":
		return map[string]any{"Attributes": map[string]string{"ApproximateNumberOfMessages": strconv.Itoa(s.Counts(name).Waiting)}}, nil
	case "SendMessage":
		id, err := s.put(name, in.MessageBody, in.MessageAttributes, seconds(in.DelaySeconds))
		return map[string]any{"MessageId": id, "MD5OfMessageBody": digest(in.MessageBody)}, err
	case "SendMessageBatch":
		return s.putAll(name, &in), nil
	case "ReceiveMessage":
		return map[string]any{"Messages": s.receive(call.Gone, name, &in)}, nil
	case "DeleteMessage":
		s.remove(name, in.ReceiptHandle)
		return nil, nil
	case "DeleteMessageBatch":
		return s.removeAll(name, &in), nil
	case "ChangeMessageVisibility":
		if !s.hide(name, in.ReceiptHandle, seconds(*in.VisibilityTimeout)) {
			return nil, wire.Errorf("ReceiptHandleIsInvalid", "The receipt handle is not valid.")
		}
		return nil, nil
	}
	return nil, wire.Errorf("InvalidAction", "%s is not played here", call.Operation.Name)
}

// NameOf is the name of the queue that a call is about.
func NameOf(call *wire.Request) string {
	if name, ok := call.Input["QueueName"].(string); ok {
		return name
	}
	url, _ := call.Input["QueueUrl"].(string)
	return path.Base(url)
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// received is a message on the wire.
type received struct {
	MessageId         string
	ReceiptHandle     string
	Body              string
	MD5OfBody         string
	Attributes        map[string]string
	MessageAttributes map[string]attribute
}

// receive waits until there are messages, the poll's time is over or the client has
// gone.
func (s *Server) receive(gone <-chan struct{}, name string, in *request) []received {
	hide := 30 * time.Second
	if in.VisibilityTimeout != nil {
		hide = seconds(*in.VisibilityTimeout)
	}
	end := time.Now().Add(seconds(in.WaitTimeSeconds))
	for {
		list, changed, next := s.take(name, max(1, min(in.MaxNumberOfMessages, 10)), hide)
		wait := time.Until(end)
		if len(list) > 0 || wait <= 0 {
			return described(list)
		}
		if !next.IsZero() {
			wait = min(wait, max(time.Until(next), time.Millisecond))
		}
		timer := time.NewTimer(wait)
		select {
		case <-gone:
			timer.Stop()
			return nil
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func described(list []message) []received {
	out := make([]received, len(list))
	for i, m := range list {
		out[i] = received{
			MessageId: m.id, ReceiptHandle: m.receipt, Body: m.body, MD5OfBody: digest(m.body), MessageAttributes: m.attributes,
			Attributes: map[string]string{
				"SentTimestamp":           strconv.FormatInt(m.sent.UnixMilli(), 10),
				"ApproximateReceiveCount": strconv.Itoa(m.receives),
			},
		}
	}
	return out
}

func (s *Server) putAll(name string, in *request) any {
	done := []map[string]string{}
	for _, e := range in.Entries {
		id, err := s.put(name, e.MessageBody, e.MessageAttributes, seconds(e.DelaySeconds))
		if err == nil {
			done = append(done, map[string]string{"Id": e.Id, "MessageId": id, "MD5OfMessageBody": digest(e.MessageBody)})
		}
	}
	return map[string]any{"Successful": done, "Failed": []any{}}
}

func (s *Server) removeAll(name string, in *request) any {
	done := []map[string]string{}
	for _, e := range in.Entries {
		s.remove(name, e.ReceiptHandle)
		done = append(done, map[string]string{"Id": e.Id})
	}
	return map[string]any{"Successful": done, "Failed": []any{}}
}
