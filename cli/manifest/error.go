package manifest

import (
	"fmt"
	"strings"
)

// Error is one thing that is wrong with a manifest.
type Error struct {
	File string
	// Line counts from one.
	Line int
	// Object is "Kind name" or "Kind namespace/name", empty if it is not known.
	Object string
	// Field is the path of the field, empty for the whole object.
	Field   string
	Message string
}

// Error is file:line, object, field and message, as far as they are known.
func (e *Error) Error() string {
	parts := []string{fmt.Sprintf("%s:%d", e.File, e.Line)}
	for _, part := range []string{e.Object, e.Field, e.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// Errors is every error of an input, in its order.
type Errors []*Error

// maxShown bounds how many errors are printed; the first usually explain the
// rest.
const maxShown = 20

// Error is one line per error.
func (e Errors) Error() string {
	lines := make([]string, 0, maxShown+1)
	for _, one := range e[:min(len(e), maxShown)] {
		lines = append(lines, one.Error())
	}
	if more := len(e) - maxShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the errors one by one.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, one := range e {
		out[i] = one
	}
	return out
}
