package archtest

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Tree is the source of one module.
type Tree struct {
	// Module is the module's path, as in its go.mod.
	Module string
	// Packages are by folder; the external test package of a folder counts as
	// the folder's.
	Packages []*Package
	fset     *token.FileSet
}

// Package is the Go code of one folder.
type Package struct {
	// Dir is the folder, slash-separated, relative to the module's root; "." is
	// the root.
	Dir string
	// Name is the name in the package clause of the files that are not tests.
	Name  string
	Files []*File
}

// File is one Go file.
type File struct {
	// Path is relative to the module's root.
	Path      string
	Test      bool
	Generated bool
	Lines     int
	Syntax    *ast.File
}

// Violation is a broken rule. Pos is file:line, or a folder.
type Violation struct {
	Rule, Pos, Message string
}

// String is one line for a person.
func (v Violation) String() string { return fmt.Sprintf("%s: %s (%s)", v.Pos, v.Message, v.Rule) }

// Load reads the Go files of a module from its root folder. Folders that the go
// command leaves out (testdata, hidden ones) and modules of their own inside
// the tree are left out as well.
func Load(root fs.FS) (*Tree, error) {
	module, err := modulePath(root)
	if err != nil {
		return nil, err
	}
	t := &Tree{Module: module, fset: token.NewFileSet()}
	byDir := map[string]*Package{}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if skipped(root, name) {
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) != ".go" || strings.HasPrefix(d.Name(), "_") || strings.HasPrefix(d.Name(), "."):
			return nil
		}
		f, err := t.parse(root, name)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if byDir[dir] == nil {
			byDir[dir] = &Package{Dir: dir}
		}
		byDir[dir].add(f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", module, err)
	}
	for _, p := range byDir {
		t.Packages = append(t.Packages, p)
	}
	slices.SortFunc(t.Packages, func(a, b *Package) int { return cmp.Compare(a.Dir, b.Dir) })
	return t, nil
}

func (p *Package) add(f *File) {
	p.Files = append(p.Files, f)
	if !f.Test {
		p.Name = f.Syntax.Name.Name
	}
}

func (t *Tree) parse(root fs.FS, name string) (*File, error) {
	src, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(t.fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &File{
		Path:      name,
		Test:      strings.HasSuffix(name, "_test.go"),
		Generated: ast.IsGenerated(syntax),
		Lines:     bytes.Count(src, []byte("\n")),
		Syntax:    syntax,
	}, nil
}

func skipped(root fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	base := path.Base(dir)
	if base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil
}

func modulePath(root fs.FS) (string, error) {
	src, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		return "", fmt.Errorf("reading the module's path: %w", err)
	}
	for line := range strings.Lines(string(src)) {
		if rest, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(rest), nil
		}
	}
	return "", fmt.Errorf("reading the module's path: go.mod has no module line")
}

// imports lists a file's imports as path and position.
func (t *Tree) imports(f *File) []imported {
	out := make([]imported, 0, len(f.Syntax.Imports))
	for _, spec := range f.Syntax.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has already refused such a file
		}
		out = append(out, imported{path: name, spec: spec, pos: t.pos(spec)})
	}
	return out
}

type imported struct {
	path string
	spec *ast.ImportSpec
	pos  string
}

func (t *Tree) pos(n ast.Node) string {
	p := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// within reports whether a slash-separated path is the given one or below it.
func within(name, parent string) bool {
	return name == parent || strings.HasPrefix(name, parent+"/")
}
