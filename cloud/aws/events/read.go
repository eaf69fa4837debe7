package events

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	kjson "sigs.k8s.io/json"

	"github.com/millwright-dev/millwright/engine/interruption"
)

// Refusal is why a body does not count.
type Refusal string

// The refusals.
const (
	// Malformed: not a whole envelope with the details of its kind.
	Malformed Refusal = "Malformed"
	// Unknown: an envelope of a version, source or kind that is not known here.
	Unknown Refusal = "Unknown"
	// Irrelevant: whole and known, but nothing follows from it, such as that a machine
	// begins to run.
	Irrelevant Refusal = "Irrelevant"
	// Foreign: from another account or region.
	Foreign Refusal = "Foreign"
	// Stale: too old, or from the future.
	Stale Refusal = "Stale"
)

// Refused is a refusal and, of a body that is malformed, what is wrong with it. Its zero value
// refuses nothing.
type Refused struct {
	Refusal
	Why string
}

func malformed(format string, args ...any) Refused {
	return Refused{Malformed, fmt.Sprintf(format, args...)}
}

// maxBody is how long a message of SQS can be, in bytes.
const maxBody = 1 << 20

// ahead is how far the sender's clock may be in front of ours.
const ahead = time.Minute

// Reader says which bodies count. The zero value takes any account, region and age.
type Reader struct {
	// Account and Region are those that events must be from; empty is any.
	Account, Region string
	// MaxAge is how old an event may be; zero is any age.
	MaxAge time.Duration
	// Machine reports whether a text can be the name of a machine; nil knows the IDs of
	// EC2 instances.
	Machine func(string) bool
}

// maxID is how long the ID of an event can be, in bytes.
const maxID = 256

// envelope is what EventBridge puts around every event.
type envelope struct {
	Version    string    `json:"version"`
	ID         string    `json:"id"`
	DetailType string    `json:"detail-type"`
	Source     string    `json:"source"`
	Account    string    `json:"account"`
	Time       time.Time `json:"time"`
	Region     string    `json:"region"`
}

// Read makes events of a body: one for every machine that it is about. With a
// refusal there are none.
func (r Reader) Read(body []byte, now time.Time) ([]interruption.Event, Refused) {
	var e envelope
	if len(body) > maxBody {
		return nil, malformed("it is longer than %d bytes", maxBody)
	}
	if err := decode(body, &e); err != nil {
		return nil, malformed("%v", err)
	}
	if e.ID == "" || e.Time.IsZero() {
		return nil, malformed("id and time are required")
	}
	parse, known := parsers[kind{e.Version, e.Source, e.DetailType}]
	switch {
	case !known:
		return nil, Refused{Refusal: Unknown}
	case r.Account != "" && e.Account != r.Account, r.Region != "" && e.Region != r.Region:
		return nil, Refused{Refusal: Foreign}
	case r.MaxAge > 0 && (now.Sub(e.Time) > r.MaxAge || e.Time.Sub(now) > ahead):
		return nil, Refused{Refusal: Stale}
	}
	list, refused := parse(&e, body)
	if refused.Refusal != "" {
		return nil, refused
	}
	machine := r.Machine
	if machine == nil {
		machine = instance
	}
	first := list[0].Machine
	list = slices.DeleteFunc(list, func(e interruption.Event) bool { // AWS Health names several things
		return !machine(e.Machine) && (e.Machine != "" || !identified(e.Volume, "vol-"))
	})
	if len(list) == 0 {
		return nil, malformed("%q is not the ID of an instance", first)
	}
	for i := range list {
		if len(list[i].ID) > maxID {
			return nil, malformed("its ID is longer than %d bytes", maxID)
		}
		list[i].Source, list[i].Issued = e.Source, e.Time
	}
	return list, Refused{}
}

// decode reads JSON with exact names and each name once, so that no other
// reader takes it differently. Further fields are fine: AWS adds some over time.
func decode(body []byte, into any) error {
	problems, err := kjson.UnmarshalStrict(body, into, kjson.DisallowDuplicateFields)
	return errors.Join(append(problems, err)...)
}

// instance reports whether a text is the ID of an EC2 instance.
func instance(id string) bool { return identified(id, "i-") }

// identified reports whether a text is an ID of EC2 that begins so.
func identified(id, prefix string) bool {
	hex := func(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }
	rest, ok := strings.CutPrefix(id, prefix)
	return ok && (len(rest) == 17 || len(rest) == 8) && !slices.ContainsFunc([]byte(rest), func(c byte) bool { return !hex(c) })
}
