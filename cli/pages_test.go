// Links and anchors of the pages lead somewhere, manifests are what an API server takes, and
// each command is executed by a test or package pages says why it is not.
package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/cli"
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cli/pages"
)

const root = ".."

func read(t *testing.T, root string) map[string]string {
	t.Helper()
	out, err := pages.Read(root)
	if err != nil || len(out) < 30 {
		t.Fatalf("%d pages, %v", len(out), err)
	}
	return out
}

var heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)

// anchors are the headings of a page as a link names them.
func anchors(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		slug := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(slug, " ", "-"))
	}
	return out
}

func TestLinksAndAnchorsLeadSomewhere(t *testing.T) {
	all := read(t, root)
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	checked := 0
	for page, text := range all {
		if strings.HasPrefix(page, filepath.Join("docs", "reference")) {
			text, _, _ = strings.Cut(text, "\n## ") // descriptions are others' words
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			checked++
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			} else if anchor != "" && !slices.Contains(anchors(all[path]), anchor) {
				t.Errorf("%s links to %s: %s has no such heading", page, m[1], path)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d links", checked)
	}
}

// Manifests on pages are complete enough for an API server to take them.
func TestManifestsOnPagesAreValid(t *testing.T) {
	n := 0
	for _, b := range pages.Blocks(read(t, root)) {
		text := strings.Join(b.Lines, "\n") + "\n"
		if !strings.HasPrefix(text, "apiVersion:") || strings.Contains(text, "\nkind: Plan\n") { // what plan prints
			continue
		}
		n++
		if _, err := manifest.Read([]string{"-"}, strings.NewReader(text)); err != nil {
			t.Errorf("%s, %q: %v\n%s", b.Page, b.Section, err, text)
		}
	}
	if n < 8 {
		t.Errorf("only %d manifests", n)
	}
}

// Answers that a page shows are those of a story of the command line's tests.
func TestAnswersOnPagesAreThoseOfStories(t *testing.T) {
	stories, err := filepath.Glob(filepath.Join(root, "cli/testdata/why/*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, file := range stories {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		told[squeezed(string(text))] = true
	}
	shown := 0
	for _, b := range pages.Blocks(read(t, root)) {
		if strings.HasPrefix(b.Lines[0], "$ kubectl millwright why ") {
			shown++
			if !told[squeezed(strings.Join(b.Lines[1:], "\n"))] {
				t.Errorf("%s, %q: no story has the answer to %s", b.Page, b.Section, b.Lines[0])
			}
		}
	}
	if shown < 2 {
		t.Errorf("%d answers are shown", shown)
	}
}

// squeezed is text without empty lines, which end no block of a page.
func squeezed(text string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" }), "\n")
}

func TestEveryCommandOnAPageIsExecutedOrSaysWhyNot(t *testing.T) {
	commands := pages.Commands(read(t, root))
	t.Chdir(root)
	ran, byOthers, not := 0, 0, map[string]int{}
	for _, c := range commands {
		switch e := c.Execution(); e.By {
		case pages.Here:
			ran++
			run(t, c.Page, strings.Fields(c.Line)[1:])
		case pages.Walk:
			byOthers++
		case pages.Other:
			byOthers++
			if file, _, _ := strings.Cut(e.Test, ", "); !exists(file) {
				t.Errorf("%s, %q: %s is said to be executed by %s, which is not there", c.Page, c.Section, c.Line, file)
			}
		case pages.None:
			not[e.Why]++
			if fault := unfounded(t, c.Line); fault != "" {
				t.Errorf("%s, %q: %s: %s", c.Page, c.Section, c.Line, fault)
			}
		default:
			t.Errorf("%s, %q: %s is not executed, and nothing says why", c.Page, c.Section, c.Line)
		}
	}
	if ran < 3 || byOthers < 60 {
		t.Errorf("%d commands were run, %d by other tests", ran, byOthers)
	}
	t.Logf("of %d commands %d are run here, %d by other tests, not run: %v", len(commands), ran, byOthers, not)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

var (
	tasks    = regexp.MustCompile(`^make ([a-z ]+)`)
	selected = regexp.MustCompile(`go test .*?(\./\S+).* -run '?([\w|]+)'?`)
	function = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// unfounded is what a command names that there is not: a task of the Makefile, or a test. It is
// empty where all is there.
func unfounded(t *testing.T, line string) string {
	t.Helper()
	if m := tasks.FindStringSubmatch(line); m != nil {
		makefile, err := os.ReadFile("Makefile")
		if err != nil {
			t.Fatal(err)
		}
		for task := range strings.FieldsSeq(m[1]) {
			if !strings.Contains(string(makefile), "\n"+task+":") {
				return "there is no task " + task
			}
		}
	}
	if m := selected.FindStringSubmatch(line); m != nil {
		within := m[1]
		if strings.HasPrefix(line, "cd sandbox ") {
			within = filepath.Join("sandbox", within)
		}
		var names []string
		for _, file := range glob(t, filepath.Join(within, "*_test.go")) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range function.FindAllStringSubmatch(string(text), -1) {
				names = append(names, f[1])
			}
		}
		for part := range strings.SplitSeq(m[2], "|") {
			if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, part) }) {
				return "no test of " + within + " is called " + part
			}
		}
	}
	return ""
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	return files
}

// run executes a command line of the binary in this process, in the root of the checkout.
func run(t *testing.T, page string, args []string) {
	t.Helper()
	var out, said bytes.Buffer
	code := cli.Main(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &said}, args)
	if code == cli.ExitError || out.Len() == 0 {
		t.Errorf("%s: %v ends with %d and says %s%s", page, args, code, fmt.Sprint(&out), &said)
	}
}

// The way to a first machine on EKS is short, and a page does not promise it shorter than it is.
func TestTheFirstMachineOnEKSTakesSixCommands(t *testing.T) {
	count := map[string]int{}
	for _, c := range pages.Commands(read(t, root)) {
		if c.Page == "docs/install.md" {
			count[c.Section]++
		}
	}
	if n := count["EKS, from nothing"]; n == 0 || n > 6 {
		t.Errorf("%d commands lead from nothing to a machine on EKS", n)
	}
	if n := count["Any cluster, simulated machines"]; n == 0 || n > 2 {
		t.Errorf("%d commands lead to a simulated machine", n)
	}
}
