package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// webhook receives notifications as CloudEvents.
type webhook struct {
	server *httptest.Server
	mu     sync.Mutex
	said   []string
}

func newWebhook(c *cluster) *webhook {
	w := &webhook{}
	w.server = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		var event struct{ SpecVersion, Type, Subject string }
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil || event.SpecVersion != "1.0" {
			http.Error(answer, "not a CloudEvent", http.StatusBadRequest)
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.said = append(w.said, event.Type+" "+event.Subject)
	}))
	c.Cleanup(w.server.Close)
	return w
}

func (w *webhook) environment() []string {
	return []string{"NOTIFICATION_WEBHOOK=" + w.server.URL}
}

// of finds fault unless an event of a type about a subject has come.
func (w *webhook) of(kind, subject string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.Contains(w.said, kind+" "+subject) {
		return nil
	}
	return fmt.Errorf("no %s about %s among %q", kind, subject, w.said)
}
