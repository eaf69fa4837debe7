package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// Sizes that nothing may reach past, in lines.
const (
	maxFile     = 700
	maxFunction = 100
	maxPackage  = 3000
)

// vague are package names that say nothing about what is inside.
var vague = []string{"util", "utils", "helper", "helpers", "common", "types", "manager", "misc", "base", "shared"}

func documented(_ *Tree, p *Package) []Violation {
	var code bool
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		code = true
		if f.Syntax.Doc != nil && strings.TrimSpace(f.Syntax.Doc.Text()) != "" {
			return nil
		}
	}
	if !code {
		return nil // a folder of tests only
	}
	return []Violation{{ruleDoc, p.Dir, "package " + p.Name + " has no doc comment"}}
}

func named(_ *Tree, p *Package) []Violation {
	if !slices.Contains(vague, p.Name) {
		return nil
	}
	return []Violation{{ruleName, p.Dir, "package " + p.Name + " is named after nothing; name it after what it holds"}}
}

func packageSize(_ *Tree, p *Package) []Violation {
	lines := 0
	for _, f := range p.Files {
		if !f.Test && !f.Generated {
			lines += f.Lines
		}
	}
	if lines <= maxPackage {
		return nil
	}
	return []Violation{{ruleSize, p.Dir, fmt.Sprintf("%d lines without tests, at most %d", lines, maxPackage)}}
}

func fileSize(_ *Tree, _ *Package, f *File) []Violation {
	if f.Lines <= maxFile {
		return nil
	}
	return []Violation{{ruleSize, f.Path, fmt.Sprintf("%d lines, at most %d", f.Lines, maxFile)}}
}

func functionSize(t *Tree, _ *Package, f *File) []Violation {
	if f.Test {
		return nil // tables of cases are data
	}
	var out []Violation
	for _, decl := range f.Syntax.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1
		if lines > maxFunction {
			out = append(out, Violation{ruleSize, t.pos(fn), fmt.Sprintf("%s has %d lines, at most %d", fn.Name.Name, lines, maxFunction)})
		}
	}
	return out
}

// docNames refuses the documentation of a function that begins with another name than its own:
// it was left behind when the function was renamed.
func docNames(t *Tree, _ *Package, f *File) []Violation {
	if f.Test {
		return nil // a test's name is its documentation
	}
	var out []Violation
	for _, decl := range f.Syntax.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if first, _, _ := strings.Cut(fn.Doc.Text(), " "); strings.TrimSpace(first) != "" && first != fn.Name.Name && !strings.Contains(first, ",") {
			out = append(out, Violation{ruleDoc, t.pos(fn), fmt.Sprintf("the documentation of %s begins with %q", fn.Name.Name, first)})
		}
	}
	return out
}

// noInit refuses init functions: what registers itself on import cannot be left
// out, ordered or tested.
func noInit(t *Tree, _ *Package, f *File) []Violation {
	var out []Violation
	for _, decl := range f.Syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			out = append(out, Violation{ruleInit, t.pos(fn), "init runs on import; call a constructor from main"})
		}
	}
	return out
}
