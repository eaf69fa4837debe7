package lifecycle

import (
	"encoding/json"
	"time"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// ThrottledAnnotation holds, on a claim, for how long its launch has waited because the cloud
// refuses requests as too frequent; JSON.
const ThrottledAnnotation = "millwright.dev/throttled"

// throttled is the story of a claim that waits for its turn, now and again.
type throttled struct {
	// Since is when the wait began that goes on, zero if none does.
	Since time.Time `json:"since,omitzero"`
	// Waited is how long those took that are over, as time.Duration prints it.
	Waited string `json:"waited,omitempty"`
}

// waits reads it off a claim. What cannot be read counts as none.
func waits(c *snapshot.Claim) throttled {
	var t throttled
	if json.Unmarshal([]byte(c.Annotations[ThrottledAnnotation]), &t) != nil {
		return throttled{}
	}
	return t
}

// waited is how long the waits of a claim took that are over.
func (t throttled) waited() time.Duration {
	d, _ := time.ParseDuration(t.Waited) // zero if it cannot be read
	return max(0, d)
}

// Throttled is what [ThrottledAnnotation] holds once an attempt to launch a claim's machine has
// ended for a reason; empty for nothing.
func Throttled(c *snapshot.Claim, reason string, now time.Time) string {
	t := waits(c)
	switch refused := reason == snapshot.RequestLimitExceeded; {
	case refused && t.Since.IsZero():
		t.Since = now.UTC()
	case !refused && !t.Since.IsZero():
		t = throttled{Waited: (t.waited() + max(0, now.Sub(t.Since))).Round(time.Second).String()}
	}
	if t == (throttled{}) {
		return ""
	}
	text, _ := json.Marshal(t) // a time and a text cannot fail
	return string(text)
}
