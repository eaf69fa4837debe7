// Package notify tells people, through a webhook, what a controller has done and what it waits
// for.
//
// A [Message] is sent as a CloudEvent in JSON (structured mode, version 1.0), or as the text
// that Slack's incoming webhooks take, which Mattermost, Rocket.Chat and others take as well. A
// message that is sent twice has the same ID.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"time"
)

// Format is the form of what is sent.
type Format string

// The formats.
const (
	CloudEvents Format = "CloudEvents"
	Slack       Format = "Slack"
)

// Formats are all of them.
func Formats() []string { return []string{string(CloudEvents), string(Slack)} }

// timeout is for how long a receiver may take to answer.
const timeout = 10 * time.Second

// Message is something that people are told.
type Message struct {
	// ID is the same for messages that tell the same; Type says what kind of thing they tell,
	// in the form of dev.millwright.disruptionrequest.proposed.
	ID, Type string
	// Subject is the object that it is about, as kind/name.
	Subject string
	Time    time.Time
	// Text is for people, Data for programs: what is encoded as JSON.
	Text string
	Data any
}

// Webhook is where messages go. It is safe for concurrent use.
type Webhook struct {
	url    string
	format Format
	source string
	client *http.Client
}

// New makes a Webhook, nil for no URL; cluster names the sender in CloudEvents, and may be
// empty. The URL is a secret: no error tells it.
func New(to string, format Format, cluster string) (*Webhook, error) {
	if to == "" {
		return nil, nil
	}
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, errors.New("is not a URL such as https://hooks.example.com/services/1")
	}
	return &Webhook{url: to, format: format, source: path.Join("millwright", cluster), client: &http.Client{Timeout: timeout}}, nil
}

// event is a CloudEvent.
type event struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            any       `json:"data"`
}

// Send sends a message. An error is one of the connection, or an answer other than 2xx.
func (w *Webhook) Send(ctx context.Context, m Message) error {
	var body any = map[string]string{"text": m.Text}
	contentType := "application/json"
	if w.format == CloudEvents {
		contentType = "application/cloudevents+json; charset=utf-8"
		body = event{"1.0", m.ID, w.source, m.Type, m.Subject, m.Time.UTC(), "application/json", m.Data}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding a message of type %s: %w", m.Type, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(text))
	if err != nil {
		return errors.New("the webhook's URL cannot be used")
	}
	req.Header.Set("Content-Type", contentType)
	answer, err := w.client.Do(req)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // the other half is the URL
		}
		return fmt.Errorf("reaching the webhook: %w", err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16)) // so that the connection is used again
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("the webhook answers %s", answer.Status)
	}
	return nil
}
