package kwok

import (
	"fmt"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/cloud"
)

func TestAMachineDiesWhenTheDeadlineOfWhatItDoesNotSurviveHasCome(t *testing.T) {
	for _, tt := range []struct {
		event string
		dies  bool
	}{
		{`"kind": "SpotInterruption", "machine": "a"`, true},
		{`"kind": "SpotInterruption", "machine": "kwok://a"`, true},
		{`"kind": "Maintenance", "code": "Stop", "machine": "a"`, true},
		{`"kind": "Maintenance", "code": "Reboot", "machine": "a"`, false},
		{`"kind": "RebalanceRecommendation", "machine": "a"`, false},
		{`"kind": "SpotInterruption", "machine": "a", "state": "Cancelled"`, false},
		{`"kind": "SpotInterruption", "machine": "b"`, false},
	} {
		w := newWorld(t)
		id := w.launch("a").ProviderID
		w.advance(5 * time.Second)
		deadline := w.clock.Now().Add(2 * time.Minute).Format(time.RFC3339)
		w.set("interruptions", fmt.Sprintf(`[{"id": "e1", "deadline": %q, %s}]`, deadline, tt.event))
		w.advance(119 * time.Second)
		if w.state(id) != cloud.Running {
			t.Errorf("%s: %s before the deadline", tt.event, w.state(id))
		}
		if list, err := w.Events(t.Context()); err != nil || len(list) != 1 {
			t.Errorf("%s: the cloud announces %v, %v", tt.event, list, err)
		}
		w.advance(2 * time.Second)
		if dead := w.state(id) == gone; dead != tt.dies {
			t.Errorf("%s: dead %v", tt.event, dead)
		}
	}
}
