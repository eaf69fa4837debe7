// Command measure prints the sizes of Millwright's engine at a commit: lines by package
// and room, the types with the most methods, the longest functions, how deep loops nest
// on the way from a decision to its innermost solver, and what the tests take.
//
//	go -C tools run ./measure [-tests] [COMMIT ...]
//
// Without a commit it measures the tree as it is. Lines are those of Go files that are no
// tests, comments included.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"
)

// module is the path of the module that is measured.
const module = "github.com/millwright-dev/millwright"

// room is a part of the engine whose size is watched.
type room struct {
	name string
	// in are the folders whose packages count, without those below or at one of but.
	in, but []string
}

// rooms are the parts of the engine in which retries were laid on retries.
func rooms() []room {
	return []room{
		{"nomination", []string{"engine/nomination"}, nil},
		{"placement", []string{"engine/placement"}, []string{"engine/placement/pack", "engine/placement/explain", "engine/placement/volumes"}},
		{"pack", []string{"engine/placement/pack"}, nil},
		{"explain", []string{"engine/placement/explain", "cli/explain"}, nil},
		{"disruption", []string{"engine/disruption"}, nil},
	}
}

// walk is a way through the engine, from a decision to what it asks in the end.
type walk struct{ name, from, to string }

func walks() []walk {
	return []walk{
		{"placement", "engine/placement.Solve", "engine/placement/pack.Solve"},
		{"consolidation", "engine/disruption.Decide", "engine/placement.Solve"},
	}
}

func main() {
	tests := flag.Bool("tests", false, "run the root module's tests as well, without the cache, and print the seconds")
	top := flag.Int("top", 10, "how many types and functions to list")
	flag.Parse()
	commits := flag.Args()
	if len(commits) == 0 {
		commits = []string{""}
	}
	for _, c := range commits {
		if err := measure(os.Stdout, c, *top, *tests); err != nil {
			fmt.Fprintln(os.Stderr, "measure:", err)
			os.Exit(1)
		}
	}
}

// measure prints the sizes at a commit, or of the tree as it is if it is empty.
func measure(out io.Writer, commit string, top int, tests bool) error {
	root, err := output("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	name := "tree"
	if commit != "" {
		dir, err := os.MkdirTemp("", "measure")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if _, err := output(root, "git", "worktree", "add", "--detach", dir, commit); err != nil {
			return err
		}
		defer output(root, "git", "worktree", "remove", "--force", dir) //nolint:errcheck // of a folder that goes anyway
		root, name = dir, commit
	}
	fmt.Fprintf(out, "# %s\n", name)
	list, err := load(root)
	if err != nil {
		return err
	}
	printLines(out, list)
	printTypes(out, list, top)
	printFunctions(out, list, top)
	printLoops(out, list)
	if tests {
		return printTests(out, root)
	}
	return nil
}

func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// load reads the packages that a room or a walk is about, with types.
func load(root string) ([]*packages.Package, error) {
	cfg := &packages.Config{
		Dir:  root,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}
	list, err := packages.Load(cfg, "./engine/...", "./cli/explain/...")
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		for _, e := range p.Errors {
			return nil, fmt.Errorf("%s: %w", p.PkgPath, e)
		}
	}
	return list, nil
}

func folder(p *packages.Package) string { return strings.TrimPrefix(p.PkgPath, module+"/") }

func within(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") })
}

func lines(p *packages.Package) (int, error) {
	n := 0
	for _, f := range p.GoFiles {
		text, err := os.ReadFile(filepath.Clean(f))
		if err != nil {
			return 0, err
		}
		n += strings.Count(string(text), "\n")
	}
	return n, nil
}

func printLines(out io.Writer, list []*packages.Package) {
	total := 0
	for _, r := range rooms() {
		sum := 0
		var parts []string
		for _, p := range list {
			if !within(folder(p), r.in) || within(folder(p), r.but) {
				continue
			}
			n, err := lines(p)
			if err != nil {
				fmt.Fprintln(out, err)
			}
			sum += n
			parts = append(parts, fmt.Sprintf("    %6d  %s", n, folder(p)))
		}
		fmt.Fprintf(out, "%6d lines  %s\n%s\n", sum, r.name, strings.Join(parts, "\n"))
		total += sum
	}
	fmt.Fprintf(out, "%6d lines  all rooms\n", total)
}

// sized is something that is listed by its size.
type sized struct {
	name string
	n    int
}

func printLargest(out io.Writer, title string, list []sized, top int) {
	slices.SortFunc(list, func(a, b sized) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	fmt.Fprintln(out, title)
	for _, s := range list[:min(top, len(list))] {
		fmt.Fprintf(out, "    %6d  %s\n", s.n, s.name)
	}
}

func printTypes(out io.Writer, list []*packages.Package, top int) {
	methods := map[string]int{}
	for _, p := range list {
		for f := range functions(p) {
			if r := receiver(f); r != "" {
				methods[folder(p)+"."+r]++
			}
		}
	}
	var types []sized
	for name, n := range methods {
		types = append(types, sized{name, n})
	}
	printLargest(out, "methods by type", types, top)
}

func printFunctions(out io.Writer, list []*packages.Package, top int) {
	var all []sized
	for _, p := range list {
		for f := range functions(p) {
			name := folder(p) + "."
			if r := receiver(f); r != "" {
				name += r + "."
			}
			all = append(all, sized{name + f.Name.Name, p.Fset.Position(f.End()).Line - p.Fset.Position(f.Pos()).Line + 1})
		}
	}
	printLargest(out, "lines by function", all, top)
}

// functions yields the functions of a package that have a body.
func functions(p *packages.Package) func(yield func(*ast.FuncDecl) bool) {
	return func(yield func(*ast.FuncDecl) bool) {
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && !yield(f) {
					return
				}
			}
		}
	}
}

// receiver is the name of the type whose method a function is, empty if of none.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	if x, ok := t.(*ast.IndexExpr); ok {
		t = x.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// printTests runs the root module's tests without the cache, one package at a time.
func printTests(out io.Writer, root string) error {
	cmd := exec.Command("go", "test", "-count=1", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	start := time.Now()
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test: %w\n%s", err, text)
	}
	state := cmd.ProcessState
	fmt.Fprintf(out, "root tests: %.0f s, %.0f s of CPU\n", time.Since(start).Seconds(), (state.UserTime() + state.SystemTime()).Seconds())
	return nil
}
