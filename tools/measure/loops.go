package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"io"
	"strings"

	"golang.org/x/tools/go/packages"
)

// edge is a call: from where, and whether again and again.
type edge struct {
	to string
	// loops are the for statements around the call.
	loops int
}

// graph are the calls of functions by name, as far as they are static. What a function
// literal calls counts as called by the function around it.
type graph map[string][]edge

func newGraph(list []*packages.Package) graph {
	g := graph{}
	for _, p := range list {
		for f := range functions(p) {
			from := nameOf(p.TypesInfo.Defs[f.Name])
			visit(f.Body, 0, func(call *ast.CallExpr, loops int) {
				if to := callee(p.TypesInfo, call); to != "" {
					g[from] = append(g[from], edge{to, loops})
				}
			})
		}
	}
	return g
}

// visit calls back for each call below a node with the number of loops around it.
func visit(n ast.Node, loops int, call func(*ast.CallExpr, int)) {
	ast.Inspect(n, func(m ast.Node) bool {
		switch x := m.(type) {
		case *ast.ForStmt:
			if m != n {
				visit(x.Body, loops+1, call)
				return false
			}
		case *ast.RangeStmt:
			if m != n {
				visit(x.X, loops, call)
				visit(x.Body, loops+1, call)
				return false
			}
		case *ast.CallExpr:
			call(x, loops)
		}
		return true
	})
}

func callee(info *types.Info, call *ast.CallExpr) string {
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return nameOf(info.Uses[f])
	case *ast.SelectorExpr:
		return nameOf(info.Uses[f.Sel])
	}
	return ""
}

func nameOf(o types.Object) string {
	f, ok := o.(*types.Func)
	if !ok {
		return ""
	}
	return strings.ReplaceAll(f.Origin().FullName(), module+"/", "")
}

// step is a call on a walk.
type step struct {
	name  string
	loops int
	// recurs reports that the function calls itself, by whichever way.
	recurs bool
}

// deepest is the way from one function to another with the most loops around its calls,
// recursion counted as one. Nil is no way.
func (g graph) deepest(from, to string) []step {
	reaches := map[string]bool{to: true}
	for more := true; more; {
		more = false
		for f, edges := range g {
			for _, e := range edges {
				if reaches[e.to] && !reaches[f] {
					reaches[f], more = true, true
				}
			}
		}
	}
	var best []step
	most := -1
	path := []step{{name: from, recurs: g.recurs(from)}}
	on := map[string]bool{from: true}
	var search func(at string, loops int)
	search = func(at string, loops int) {
		if at == to {
			if loops > most {
				best, most = append([]step(nil), path...), loops
			}
			return
		}
		for _, e := range g[at] {
			if !reaches[e.to] || on[e.to] {
				continue
			}
			again := g.recurs(e.to)
			more := e.loops
			if again {
				more++
			}
			on[e.to], path = true, append(path, step{e.to, e.loops, again})
			search(e.to, loops+more)
			on[e.to], path = false, path[:len(path)-1]
		}
	}
	search(from, 0)
	return best
}

// recurs reports whether a function calls itself, by whichever way.
func (g graph) recurs(name string) bool {
	seen := map[string]bool{}
	var reach func(at string) bool
	reach = func(at string) bool {
		for _, e := range g[at] {
			if e.to == name {
				return true
			}
			if !seen[e.to] {
				seen[e.to] = true
				if reach(e.to) {
					return true
				}
			}
		}
		return false
	}
	return reach(name)
}

func printLoops(out io.Writer, list []*packages.Package) {
	g := newGraph(list)
	for _, w := range walks() {
		steps := g.deepest(w.from, w.to)
		if steps == nil {
			fmt.Fprintf(out, "loops of %s: no call leads from %s to %s\n", w.name, w.from, w.to)
			continue
		}
		sum := 0
		var text []string
		for _, s := range steps {
			mark := strings.Repeat("for ", s.loops)
			if sum += s.loops; s.recurs {
				sum++
				mark += "again "
			}
			text = append(text, "    "+mark+s.name)
		}
		fmt.Fprintf(out, "loops of %s: %d\n%s\n", w.name, sum, strings.Join(text, "\n"))
	}
}
