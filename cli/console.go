package cli

import (
	"fmt"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/millwright-dev/millwright/cli/color"
	"github.com/millwright-dev/millwright/cli/manifest"
)

// console is where a command reads and writes.
type console struct {
	genericiooptions.IOStreams
	color *color.Mode
}

// warn says on the error stream what is likely to be wrong.
func (c console) warn(format string, args ...any) {
	c.say(color.Painter.Yellow, "warning:", format, args)
}

// warnOf warns of faults in manifests.
func (c console) warnOf(faults manifest.Errors) {
	for _, f := range faults {
		c.warn("%v", f)
	}
}

// note says on the error stream what is worth knowing.
func (c console) note(format string, args ...any) { c.say(color.Painter.Faint, "note:", format, args) }

func (c console) say(paint func(color.Painter, string) string, word, format string, args []any) {
	p := color.For(c.ErrOut, *c.color)
	fmt.Fprintf(c.ErrOut, "%s %s\n", paint(p, word), printers.EscapeTerminal(fmt.Sprintf(format, args...)))
}
