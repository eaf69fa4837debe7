// Package storytest replays tests that are written as readable text files.
//
// A file is a story: comments, commands, and under each command what it
// answered, on lines that begin with "| ":
//
//	# A budget that allows nothing keeps the pod where it is.
//	pod default/web app=web
//	pdb default/web app=web allowed=0
//	next
//	| Drain, again at 12:00:01
//	|   pod default/web waits: PDBBlocks
//
// [Run] replays every *.txt file of a directory and compares the answers;
// go test -rewrite writes them into the files instead, to be read as a diff.
package storytest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/golden"
)

// Command is one line of a story: a name, plain arguments, and key=value ones.
// An argument without a value, such as "ready", is also an option with an empty
// value.
type Command struct {
	Name    string
	Args    []string
	Options map[string]string
}

// Has reports whether an option was given, with or without a value.
func (c Command) Has(option string) bool { _, ok := c.Options[option]; return ok }

// World answers commands; an empty answer prints nothing.
type World func(t *testing.T, c Command) string

// Run replays the stories of a directory, each in a world of its own.
func Run(t *testing.T, dir string, begin func() World) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories in %s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { replay(t, file, begin()) })
	}
}

func replay(t *testing.T, file string, world World) {
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, file, tell(t, string(was), world))
}

// tell copies the story and answers every command anew.
func tell(t *testing.T, text string, world World) string {
	var out strings.Builder
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, "|") {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if answer := strings.TrimRight(world(t, Parse(line)), "\n"); answer != "" {
			out.WriteString("| " + strings.ReplaceAll(answer, "\n", "\n| ") + "\n")
		}
	}
	return out.String()
}

// Parse reads one line that is not empty.
func Parse(line string) Command {
	words := strings.Fields(line)
	c := Command{Name: words[0], Options: map[string]string{}}
	for _, w := range words[1:] {
		k, v, ok := strings.Cut(w, "=")
		if !ok {
			c.Args = append(c.Args, w)
		}
		c.Options[k] = v
	}
	return c
}

// Duration reads an argument such as 1h30m.
func Duration(t testing.TB, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Number reads a whole number.
func Number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
