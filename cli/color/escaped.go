package color

import (
	"io"

	"k8s.io/cli-runtime/pkg/printers"
)

// Escaped writes what a terminal would obey as text: objects and files may hold anything.
type Escaped struct{ io.Writer }

// Write writes all of p.
func (e Escaped) Write(p []byte) (int, error) {
	if err := printers.WriteEscaped(e.Writer, string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
