package notify

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAMessageIsACloudEventOrWhatSlackTakes(t *testing.T) {
	var contentType string
	var got map[string]any
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		contentType = r.Header.Get("Content-Type")
		text, _ := io.ReadAll(r.Body) // what is missing is missed below
		got = nil
		_ = json.Unmarshal(text, &got)
		w.WriteHeader(status)
	}))
	defer server.Close()
	message := Message{
		ID: "c1/Proposed", Type: "dev.millwright.disruptionrequest.proposed", Subject: "disruptionrequest/c1",
		Time: time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC), Text: "approve, please", Data: map[string]string{"action": "Drain"},
	}
	send := func(f Format) error {
		w, err := New(server.URL+"/secret", f, "demo")
		if err != nil {
			t.Fatal(err)
		}
		return w.Send(t.Context(), message)
	}
	if err := send(CloudEvents); err != nil {
		t.Error(err)
	}
	data, _ := got["data"].(map[string]any)
	if !strings.HasPrefix(contentType, "application/cloudevents+json") || data["action"] != "Drain" {
		t.Errorf("%s: %v", contentType, got)
	}
	for key, want := range map[string]string{
		"specversion": "1.0", "id": "c1/Proposed", "source": "millwright/demo", "type": "dev.millwright.disruptionrequest.proposed",
		"subject": "disruptionrequest/c1", "time": "2026-03-11T12:00:00Z", "datacontenttype": "application/json",
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %s", key, got[key], want)
		}
	}
	if err := send(Slack); err != nil || contentType != "application/json" || len(got) != 1 || got["text"] != "approve, please" {
		t.Errorf("%v, %s: %v", err, contentType, got)
	}
	status = http.StatusForbidden
	if err := send(Slack); err == nil || err.Error() != "the webhook answers 403 Forbidden" {
		t.Errorf("got %v", err)
	}
	server.Close()
	if err := send(Slack); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if _, err := New("hooks.example.com/secret", Slack, ""); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
