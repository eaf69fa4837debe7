// Package pages_test holds the pages for people to what there is: links and anchors lead
// somewhere, manifests are what an API server takes, and each command is executed by a test or
// says here why it is not.
package pages_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/cli"
	"github.com/millwright-dev/millwright/cli/manifest"
)

const root = "../.."

// pages are the Markdown files of the repository, by path from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "bin", "dist", "testdata", ".terraform"}, d.Name()) {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		out[rel] = string(text)
		return err
	})
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
	all := pages(t)
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

// block is code in a page: lines that are indented by four spaces, after an empty line.
type block struct {
	page, section string
	lines         []string
}

func blocks(all map[string]string) []block {
	var out []block
	for page, text := range all {
		section, open := "", false
		for line := range strings.SplitSeq(text, "\n") {
			if h := heading.FindStringSubmatch(line); h != nil {
				section, open = h[1], false
			}
			code, ok := strings.CutPrefix(line, "    ")
			switch {
			case !ok && strings.TrimSpace(line) != "":
				open = false
			case ok && !open:
				out, open = append(out, block{page: page, section: section}), true
				fallthrough
			case ok:
				out[len(out)-1].lines = append(out[len(out)-1].lines, code)
			}
		}
	}
	return out
}

// Manifests on pages are complete enough for an API server to take them.
func TestManifestsOnPagesAreValid(t *testing.T) {
	n := 0
	for _, b := range blocks(pages(t)) {
		text := strings.Join(b.lines, "\n") + "\n"
		if !strings.HasPrefix(text, "apiVersion:") || strings.Contains(text, "\nkind: Plan\n") { // what plan prints
			continue
		}
		n++
		if _, err := manifest.Read([]string{"-"}, strings.NewReader(text)); err != nil {
			t.Errorf("%s, %q: %v\n%s", b.page, b.section, err, text)
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
	for _, b := range blocks(pages(t)) {
		if strings.HasPrefix(b.lines[0], "$ kubectl millwright why ") {
			shown++
			if !told[squeezed(strings.Join(b.lines[1:], "\n"))] {
				t.Errorf("%s, %q: no story has the answer to %s", b.page, b.section, b.lines[0])
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

// executed are the sections whose commands an end-to-end test reads from the page and runs.
var executed = map[string]string{
	"docs/adopt.md/Over": "sandbox/e2e/adopt_test.go", "docs/adopt.md/Back": "sandbox/e2e/adopt_test.go",
	"docs/install.md/Any cluster, simulated machines": "sandbox/e2e/adopt_test.go",
}

// unexecuted is why commands that begin in a certain way are not run as they are written; the
// first that fits counts.
var unexecuted = []struct{ prefix, why string }{
	{"helm uninstall millwright", "run by sandbox/e2e/chart_test.go with another namespace"},
	{"helm upgrade millwright", "run by sandbox/e2e/chart_test.go with another namespace"},
	{"helm upgrade …", "shortened"},
	{"kubectl delete nodepools", "run by sandbox/e2e/adopt_test.go"},
	{"kubectl wait --for=delete nodeclaims", "run by sandbox/e2e/adopt_test.go"},
	{"terraform output", "needs a cluster on AWS"},
	{"terraform ", "creates what costs money on AWS; make terraform plans both examples"},
	{"aws ", "needs an account of AWS"},
	{"crane ", "needs a registry"},
	{"make", "a task of the Makefile, run by hand or as a whole by continuous integration"},
	{"cd ", "a task for those who work on Millwright"},
	{"go ", "a task for those who work on Millwright"},
	{"bin/sandbox", "starts a cluster; the demo's tests do"},
	{"sandbox ", "injects faults into a cluster; the end-to-end tests do"},
	{"bin/karpenter", "starts a cluster; the bench does"},
	{"kubectl ", "asks a cluster that the reader has"},
	{"helm ", "asks a cluster that the reader has"},
	{"millwright ", "asks a cluster or files that the reader has; each command is tested in cli"},
	{"$ ", "shown with its answer"},
	{"terraform show", "needs a plan of the reader's"},
	{"kustomize ", "needs manifests of the reader's"},
	{"ln ", "links into the reader's PATH"},
	{"printf ", "writes into the reader's PATH"},
	{"chmod ", "writes into the reader's PATH"},
	{"export ", "sets a variable of the reader's shell"},
	{"AWS_", "needs the emulator"},
	{"MILLWRIGHT_", "a task for those who work on Millwright"},
	{"kubectl", "asks a cluster that the reader has"},
}

// offline begin the commands that need nothing but the checkout: they are run here.
var offline = []string{"bin/millwright plan ", "bin/millwright doctor ", "bin/millwright policy "}

var command = regexp.MustCompile(`^(?:\$ )?(?:bin/)?(millwright|kubectl|helm|terraform|aws|crane|make|go|cd|sandbox|kustomize|ln|printf|chmod|export|karpenter-[a-z]+|AWS_\S+|MILLWRIGHT_\S+)(?: |$)`)

func TestEveryCommandOnAPageIsExecutedOrSaysWhyNot(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(here, root))
	ran, byOthers, not := 0, 0, map[string]int{}
	for _, b := range blocks(pagesFrom(t, here)) {
		for _, line := range b.lines {
			line, _, _ = strings.Cut(line, "   #")
			if line = strings.TrimSpace(line); !command.MatchString(line) {
				continue
			}
			switch {
			case executed[b.page+"/"+b.section] != "":
				byOthers++
			case slices.ContainsFunc(offline, func(p string) bool { return strings.HasPrefix(line, p) }):
				ran++
				run(t, b.page, strings.Fields(line)[1:])
			default:
				i := slices.IndexFunc(unexecuted, func(u struct{ prefix, why string }) bool { return strings.HasPrefix(line, u.prefix) })
				if i < 0 {
					t.Errorf("%s, %q: %s is not executed, and nothing says why", b.page, b.section, line)
					continue
				}
				not[unexecuted[i].why]++
			}
		}
	}
	if ran < 3 || byOthers < 6 {
		t.Errorf("%d commands were run, %d by other tests", ran, byOthers)
	}
	t.Logf("%d run here, %d by end-to-end tests, not run: %v", ran, byOthers, not)
}

func pagesFrom(t *testing.T, dir string) map[string]string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	defer t.Chdir(here)
	return pages(t)
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
