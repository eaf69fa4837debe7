package sqstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// request has the fields of all operations.
type request struct {
	QueueName         string
	QueueUrl          string
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

// apiError is an error in AWS's words.
type apiError struct{ code, query, text string }

func (e *apiError) Error() string { return e.code + ": " + e.text }

var errNoQueue = &apiError{"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist."}

// longest is how large a request may be, in bytes.
const longest = 4 << 20

// ServeHTTP is http.Handler's.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := s.answer(r)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	var api *apiError
	switch {
	case errors.As(err, &api):
		w.Header().Set("X-Amzn-Query-Error", api.query+";Sender")
		w.WriteHeader(http.StatusBadRequest)
		answer = map[string]any{"__type": "com.amazonaws.sqs#" + api.code, "message": api.text}
	case err != nil:
		w.WriteHeader(http.StatusInternalServerError)
		answer = map[string]any{"__type": "InternalFailure", "message": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(answer) // a client that has gone
}

func (s *Server) answer(r *http.Request) (any, error) {
	target, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
	if !ok || r.Method != http.MethodPost {
		return nil, &apiError{"InvalidAction", "InvalidAction", "not an operation of SQS"}
	}
	var in request
	if err := json.NewDecoder(io.LimitReader(r.Body, longest)).Decode(&in); err != nil {
		return nil, &apiError{"SerializationException", "InvalidParameterValue", err.Error()}
	}
	name := in.QueueName
	if name == "" {
		name = path.Base(in.QueueUrl)
	}
	s.mu.Lock()
	_, exists := s.queues[name]
	s.mu.Unlock()
	if !exists {
		return nil, errNoQueue
	}
	switch target {
	case "GetQueueUrl":
		return map[string]any{"QueueUrl": fmt.Sprintf("http://%s/%s/%s", r.Host, s.config.Account, name)}, nil
	case "GetQueueAttributes":
		return map[string]any{"Attributes": map[string]string{"ApproximateNumberOfMessages": strconv.Itoa(s.Counts(name).Waiting)}}, nil
	case "SendMessage":
		id, err := s.put(name, in.MessageBody, in.MessageAttributes, seconds(in.DelaySeconds))
		return map[string]any{"MessageId": id, "MD5OfMessageBody": digest(in.MessageBody)}, err
	case "SendMessageBatch":
		return s.putAll(name, &in), nil
	case "ReceiveMessage":
		return map[string]any{"Messages": s.receive(r, name, &in)}, nil
	case "DeleteMessage":
		s.remove(name, in.ReceiptHandle)
		return map[string]any{}, nil
	case "DeleteMessageBatch":
		return s.removeAll(name, &in), nil
	case "ChangeMessageVisibility":
		if in.VisibilityTimeout == nil || !s.hide(name, in.ReceiptHandle, seconds(*in.VisibilityTimeout)) {
			return nil, &apiError{"ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", "The receipt handle is not valid."}
		}
		return map[string]any{}, nil
	}
	return nil, &apiError{"InvalidAction", "InvalidAction", target + " is not played here"}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// received is a message on the wire.
type received struct {
	MessageId         string
	ReceiptHandle     string
	Body              string
	MD5OfBody         string
	Attributes        map[string]string
	MessageAttributes map[string]attribute `json:",omitempty"`
}

// receive waits until there are messages, the poll's time is over or the client has
// gone.
func (s *Server) receive(r *http.Request, name string, in *request) []received {
	hide := 30 * time.Second
	if in.VisibilityTimeout != nil {
		hide = seconds(*in.VisibilityTimeout)
	}
	end := time.Now().Add(seconds(in.WaitTimeSeconds))
	for {
		list, changed, next := s.take(name, max(1, min(in.MaxNumberOfMessages, 10)), hide)
		wait := time.Until(end)
		if len(list) > 0 || wait <= 0 {
			return wire(list)
		}
		if !next.IsZero() {
			wait = min(wait, max(time.Until(next), time.Millisecond))
		}
		timer := time.NewTimer(wait)
		select {
		case <-r.Context().Done():
			timer.Stop()
			return nil
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func wire(list []message) []received {
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
