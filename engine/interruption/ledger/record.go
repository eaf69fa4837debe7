package ledger

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Annotation of a claim has the record of its machine.
const Annotation = "millwright.dev/announcements"

const (
	// Most is how many announcements a record has.
	Most = 16
	// Kept is how long what is over stays on record, so that words about it that
	// come late are known to be late.
	Kept = 24 * time.Hour
)

// longest is how many bytes of a cloud's words are kept.
const longest = 200

// Record is what is on record about one machine, by ID. Its events have no Machine.
type Record []interruption.Event

// Read reads a record from the annotations of a claim. What cannot be read there
// is as if it were not.
func Read(annotations map[string]string, now time.Time) Record {
	text, ok := annotations[Annotation]
	if !ok {
		return nil
	}
	var r Record
	if json.Unmarshal([]byte(text), &r) != nil {
		return nil
	}
	return r.current(now)
}

// Text is the value of the annotation; empty if nothing is on record.
func (r Record) Text() string {
	if len(r) == 0 {
		return ""
	}
	text, err := json.Marshal(r)
	if err != nil {
		return "" // times beyond the year 9999, which no reader lets pass
	}
	return string(text)
}

// Events are those on record about the machines of a snapshot.
func Events(s *snapshot.Snapshot) []interruption.Event {
	var out []interruption.Event
	for _, n := range s.Nodes {
		if n.Claim == nil || n.Claim.ProviderID == "" {
			continue
		}
		for _, e := range Read(n.Claim.Annotations, s.Now) {
			if e.Machine = n.Claim.ProviderID; e.Check() == nil {
				out = append(out, e)
			}
		}
	}
	return out
}

// Add merges news into a record and reports whether they change it.
func (r Record) Add(news interruption.Event, now time.Time) (Record, bool) {
	news = plain(news)
	i := slices.IndexFunc(r, func(old interruption.Event) bool { return same(&old, &news) })
	switch {
	case i < 0:
		r = append(slices.Clone(r), news)
	case !supersedes(&news, &r[i]):
		return r, false
	default:
		merged := merge(r[i], news)
		if merged == r[i] {
			return r, false
		}
		r = slices.Clone(r)
		r[i] = merged
	}
	return r.current(now), true
}

// plain is an event as it is kept: short, in UTC, without the machine.
func plain(e interruption.Event) interruption.Event {
	e.Machine = ""
	e.Text = strings.ToValidUTF8(e.Text[:min(len(e.Text), longest)], "")
	e.NotBefore, e.Deadline, e.Issued = e.NotBefore.UTC(), e.Deadline.UTC(), e.Issued.UTC()
	return e
}

// Withdraw notes as over what the source, which lists everything that stands, has
// put on record and lists no longer.
func (r Record) Withdraw(source string, listed []interruption.Event, now time.Time) (Record, bool) {
	out, changed := slices.Clone(r), false
	for i := range out {
		e := &out[i]
		stands := slices.ContainsFunc(listed, func(l interruption.Event) bool { return same(e, &l) })
		if e.Confirmed && e.Source == source && !e.Over() && !stands {
			e.State, e.Issued, changed = interruption.Completed, now.UTC().Truncate(time.Second), true
		}
	}
	return out.current(now), changed
}

// same reports whether two events are about the same thing, on one machine.
func same(a, b *interruption.Event) bool {
	switch {
	case a.Kind != b.Kind, a.Volume != b.Volume:
		return false
	case a.Kind != interruption.Maintenance, a.ID == b.ID:
		return true
	}
	apart := a.NotBefore.Sub(b.NotBefore).Abs()
	return (a.Code == b.Code || a.Code == "" || b.Code == "") && !a.NotBefore.IsZero() && apart < time.Hour
}

// supersedes reports whether news count more than what is on record.
func supersedes(news, old *interruption.Event) bool {
	switch {
	case news.Confirmed:
		return true
	case old.Confirmed && !old.Over():
		return false
	case news.Issued.Equal(old.Issued):
		return news.Over() && !old.Over()
	}
	return news.Issued.After(old.Issued)
}

// merge is the record after news that count. It keeps its ID, by which requests
// and events know it.
func merge(old, news interruption.Event) interruption.Event {
	out := news
	out.ID = old.ID
	out.Code = cmp.Or(news.Code, old.Code)
	if out.Issued.Before(old.Issued) {
		out.Issued = old.Issued
	}
	moved := !news.NotBefore.Equal(old.NotBefore) || !news.Deadline.Equal(old.Deadline)
	if state := cmp.Or(news.State, interruption.Announced); state == interruption.Announced && !old.Over() {
		out.State = old.State
		if moved {
			out.State = interruption.Changed
		}
	}
	return out
}

// current leaves out what is long over, and what is beyond the bound: first what is
// over, then what rests on messages alone, oldest first.
func (r Record) current(now time.Time) Record {
	r = slices.DeleteFunc(slices.Clone(r), func(e interruption.Event) bool {
		end := e.End()
		if e.Over() {
			end = e.Issued
		}
		return !end.IsZero() && now.Sub(end) > Kept
	})
	if over := len(r) - Most; over > 0 {
		slices.SortStableFunc(r, func(a, b interruption.Event) int {
			return cmp.Or(cmp.Compare(weight(&a), weight(&b)), a.Issued.Compare(b.Issued))
		})
		r = r[over:]
	}
	slices.SortStableFunc(r, func(a, b interruption.Event) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Kind, b.Kind))
	})
	return r
}

// weight orders what a full record forgets first.
func weight(e *interruption.Event) int {
	switch {
	case e.Over():
		return 0
	case !e.Confirmed:
		return 1
	}
	return 2
}
