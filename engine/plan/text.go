package plan

import (
	"fmt"
	"strings"
)

// Message is the reason as a sentence for people, without the name of what it is
// about: "pool default: no instance type has cpu 200 (of 812); the most is cpu
// 191". It is the only place where text is made of a reason.
func (r Reason) Message() string {
	if text := poolText(r); text != "" {
		return r.pool() + ": " + text
	}
	for _, w := range []words{placementWords, disruptionWords, lifecycleWords, drainWords, attachmentWords, interruptionWords, repairWords} {
		if text := w.of(r); text != "" {
			return text
		}
	}
	return r.plain()
}

// words are sentences about reasons, by their codes.
type words map[Code]func(Reason) string

// of is the sentence about a reason, empty if there is none.
func (w words) of(r Reason) string {
	if say := w[r.Code]; say != nil {
		return say(r)
	}
	return ""
}

// say is a sentence in the form of package fmt; parts are the strings in it.
func say(format string, parts ...func(Reason) string) func(Reason) string {
	return func(r Reason) string {
		args := make([]any, len(parts))
		for i, part := range parts {
			args[i] = part(r)
		}
		return fmt.Sprintf(format, args...)
	}
}

// Parts of sentences.

func want(r Reason) string   { return r.Want }
func have(r Reason) string   { return r.Have }
func since(r Reason) string  { return at(r.Since) }
func end(r Reason) string    { return at(r.Until) }
func name(r Reason) string   { return r.Objects[0].Name }
func all(r Reason) string    { return list(r.Objects, "") }
func others(r Reason) string { return list(r.rest(), "") }

func first(otherwise string) func(Reason) string {
	return func(r Reason) string { return r.first(otherwise) }
}

func second(otherwise string) func(Reason) string {
	return func(r Reason) string { return r.second(otherwise) }
}

// caused adds what there is, in parentheses.
func caused(text func(Reason) string) func(Reason) string {
	return func(r Reason) string { return withCause(text(r), r.Have) }
}

// ends adds until when the reason holds.
func ends(text func(Reason) string) func(Reason) string {
	return func(r Reason) string { return until(text(r), r.Until) }
}

// plain is what can be said of any reason.
func (r Reason) plain() string {
	parts := []string{string(r.Code)}
	for _, o := range r.Objects {
		parts = append(parts, o.String())
	}
	if r.Want != "" {
		parts = append(parts, "want "+r.Want)
	}
	if r.Have != "" {
		parts = append(parts, "have "+r.Have)
	}
	text := strings.Join(parts, ", ")
	return until(text, r.Until)
}
