// Package color colours words on terminals, as a flag and the environment say.
package color

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// Flag is the name of the flag.
const Flag = "color"

// Mode says when to colour. It is a pflag.Value.
type Mode string

// Modes.
const (
	Auto   Mode = "auto"
	Always Mode = "always"
	Never  Mode = "never"
)

// Modes are all of them.
func Modes() []string { return []string{string(Auto), string(Always), string(Never)} }

// String is the mode.
func (m *Mode) String() string { return string(*m) }

// Type is the flag's type in the help.
func (m *Mode) Type() string { return "when" }

// Set refuses anything but the three modes.
func (m *Mode) Set(s string) error {
	if !slices.Contains(Modes(), s) {
		return fmt.Errorf("must be one of %s", strings.Join(Modes(), ", "))
	}
	*m = Mode(s)
	return nil
}

// Painter colours words, or does not.
type Painter bool

// For decides whether words on a stream are coloured: as the flag says;
// else not if NO_COLOR is set, whatever its value; else if CLICOLOR_FORCE is set
// to anything but 0; else on a terminal that is not dumb.
func For(w io.Writer, mode Mode) Painter {
	switch mode {
	case Always:
		return true
	case Never:
		return false
	}
	if _, set := os.LookupEnv("NO_COLOR"); set {
		return false
	}
	if force := os.Getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	f, isFile := w.(*os.File)
	return Painter(isFile && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd())))
}

// Red is for errors.
func (p Painter) Red(s string) string { return p.paint("31", s) }

// Yellow is for warnings.
func (p Painter) Yellow(s string) string { return p.paint("33", s) }

// Faint is for notes.
func (p Painter) Faint(s string) string { return p.paint("2", s) }

func (p Painter) paint(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
