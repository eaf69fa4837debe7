package switches

import (
	"fmt"
	"slices"
	"strings"
)

// Word is a flag that takes one of some words, or any if there are none.
type Word struct {
	Value   string
	Allowed []string
}

// Set refuses what is not allowed.
func (w *Word) Set(s string) error {
	if len(w.Allowed) > 0 && !slices.Contains(w.Allowed, s) {
		return fmt.Errorf("must be one of %s", strings.Join(w.Allowed, ", "))
	}
	w.Value = s
	return nil
}

// String is the word.
func (w *Word) String() string { return w.Value }

// Type is the flag's type in the help.
func (w *Word) Type() string { return "string" }
