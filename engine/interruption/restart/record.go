package restart

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Annotation of a claim has the record of its machine's restart, in JSON.
const Annotation = "millwright.dev/restart"

// Record is how far a restart has come. Times are when each step was decided.
type Record struct {
	// Events are the IDs of what the machine is restarted for, Kind is the first one's.
	Events []string `json:"events,omitempty"`
	Kind   string   `json:"kind,omitempty"`
	// Refused is why the machine cannot be restarted; with it there is nothing else.
	Refused string `json:"refused,omitempty"`
	// Boot is the Node's boot ID before.
	Boot  string    `json:"boot,omitempty"`
	Begun time.Time `json:"begun,omitzero"`
	Stop  time.Time `json:"stop,omitzero"`
	Start time.Time `json:"start,omitzero"`
	Done  time.Time `json:"done,omitzero"`
	// Failed is why it was given up after the machine was told to stop.
	Failed string `json:"failed,omitempty"`
}

// Of reads the record of a claim. What cannot be read there is as if it were not.
func Of(c *snapshot.Claim) Record {
	var r Record
	if c == nil || c.Annotations[Annotation] == "" || json.Unmarshal([]byte(c.Annotations[Annotation]), &r) != nil {
		return Record{}
	}
	if len(r.Events) == 0 {
		return Record{Refused: r.Refused}
	}
	return r
}

// Text is the value of the annotation.
func (r Record) Text() string {
	text, err := json.Marshal(r)
	if err != nil {
		return "" // times beyond the year 9999, which no clock shows
	}
	return string(text)
}

// Serves reports whether an event is among those that the machine is restarted for.
func (r Record) Serves(event string) bool { return slices.Contains(r.Events, event) }

// UnderWay reports whether the machine is being restarted.
func (r Record) UnderWay() bool { return !r.Begun.IsZero() && r.Done.IsZero() && r.Failed == "" }

// Committed reports whether the machine was told to stop and is not back yet: from there
// the way is forward only.
func (r Record) Committed() bool { return !r.Stop.IsZero() && r.Done.IsZero() }

// skew is by how much the cloud's clock may differ from ours.
const skew = time.Minute

// Caused reports whether a stop that the cloud tells of, as of a time, is this restart's own.
func (r Record) Caused(issued time.Time) bool {
	switch {
	case r.Stop.IsZero() || r.Failed != "":
		return false
	case issued.IsZero():
		return r.Done.IsZero()
	}
	return !issued.Before(r.Stop.Add(-skew)) && (r.Done.IsZero() || !issued.After(r.Done.Add(skew)))
}

// Phase says what the restart is at.
func (r Record) Phase() string {
	switch {
	case r.Stop.IsZero():
		return "its pods leave"
	case r.Start.IsZero():
		return "it stops"
	}
	return "it starts"
}
