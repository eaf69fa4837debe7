// Package pages reads the repository's pages for people: which commands they show, and what
// executes each. What needs nothing but the checkout is run by this package's tests, what
// needs a cluster by the end-to-end test that walks through the pages.
package pages

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Read returns the Markdown files below a folder, by path from there.
func Read(root string) (map[string]string, error) {
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
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		out[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the pages of %s: %w", root, err)
	}
	return out, nil
}

// Block is code in a page: lines that are indented by four spaces, after an empty line.
type Block struct {
	Page, Section string
	Lines         []string
}

var heading = regexp.MustCompile(`^#{1,6} (.+)$`)

// Blocks are the code of all pages, in the order of the pages' paths.
func Blocks(pages map[string]string) []Block {
	var out []Block
	paths := make([]string, 0, len(pages))
	for page := range pages {
		paths = append(paths, page)
	}
	slices.Sort(paths)
	for _, page := range paths {
		section, open := "", false
		for line := range strings.SplitSeq(pages[page], "\n") {
			if h := heading.FindStringSubmatch(line); h != nil {
				section, open = h[1], false
			}
			code, ok := strings.CutPrefix(line, "    ")
			switch {
			case !ok && strings.TrimSpace(line) != "":
				open = false
			case ok && !open:
				out, open = append(out, Block{Page: page, Section: section}), true
				fallthrough
			case ok:
				out[len(out)-1].Lines = append(out[len(out)-1].Lines, code)
			}
		}
	}
	return out
}

// Command is a line that a page tells its reader to type.
type Command struct {
	Page, Section, Line string
	// Answered is whether the page shows what it prints.
	Answered bool
}

var typed = regexp.MustCompile(`^(?:\.\./)?(?:bin/)?(?:[A-Z_]+=\S+ )*(millwright|kubectl|helm|terraform|aws|crane|make|go|cd|sandbox|kustomize|ln|printf|chmod|export|karpenter-[a-z]+)(?: |$)`)

// Commands are the commands of all pages. A line that ends in a backslash goes on in the next.
func Commands(pages map[string]string) []Command {
	var out []Command
	for _, b := range Blocks(pages) {
		text := strings.ReplaceAll(strings.Join(b.Lines, "\n"), "\\\n", "")
		for line := range strings.SplitSeq(text, "\n") {
			line, _, _ = strings.Cut(line, "  #")
			line, answered := strings.CutPrefix(strings.TrimSpace(line), "$ ")
			if typed.MatchString(line) {
				out = append(out, Command{Page: b.Page, Section: b.Section, Line: line, Answered: answered})
			}
		}
	}
	return out
}
