package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
)

const colorFlag = "color"

// colorMode says when to colour. It is a pflag.Value.
type colorMode string

const (
	auto   colorMode = "auto"
	always colorMode = "always"
	never  colorMode = "never"
)

var colorModes = []string{string(auto), string(always), string(never)}

func (m *colorMode) String() string { return string(*m) }

// Type is the flag's type in the help.
func (m *colorMode) Type() string { return "when" }

// Set refuses anything but the three modes.
func (m *colorMode) Set(s string) error {
	if !slices.Contains(colorModes, s) {
		return fmt.Errorf("must be one of %s", strings.Join(colorModes, ", "))
	}
	*m = colorMode(s)
	return nil
}

// painter colours words, or does not.
type painter bool

// painterFor decides whether words on a stream are coloured: as the flag says;
// else not if NO_COLOR is set, whatever its value; else if CLICOLOR_FORCE is set
// to anything but 0; else on a terminal that is not dumb.
func painterFor(w io.Writer, mode colorMode) painter {
	switch mode {
	case always:
		return true
	case never:
		return false
	}
	if _, set := os.LookupEnv("NO_COLOR"); set {
		return false
	}
	if force := os.Getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	f, isFile := w.(*os.File)
	return painter(isFile && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd())))
}

func (p painter) red(s string) string    { return p.paint("31", s) }
func (p painter) yellow(s string) string { return p.paint("33", s) }
func (p painter) faint(s string) string  { return p.paint("2", s) }

func (p painter) paint(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// console is where a command reads and writes.
type console struct {
	genericiooptions.IOStreams
	color *colorMode
}

// warn says on the error stream what is likely to be wrong.
func (c console) warn(format string, args ...any) { c.say(painter.yellow, "warning:", format, args) }

// note says on the error stream what is worth knowing.
func (c console) note(format string, args ...any) { c.say(painter.faint, "note:", format, args) }

func (c console) say(paint func(painter, string) string, word, format string, args []any) {
	p := painterFor(c.ErrOut, *c.color)
	fmt.Fprintf(c.ErrOut, "%s %s\n", paint(p, word), printers.EscapeTerminal(fmt.Sprintf(format, args...)))
}
