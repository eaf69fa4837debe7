package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// pureRoots are the folders whose code must be a function of its arguments.
// Support code of tests below them may read files.
var pureRoots = []string{"engine", "api"}

// impure lists what pure code may not import, whole trees each.
var impure = []string{
	"k8s.io/client-go", "k8s.io/component-base", "k8s.io/klog", "k8s.io/cli-runtime",
	"sigs.k8s.io/controller-runtime", "github.com/prometheus", "go.opentelemetry.io",
	"github.com/go-logr", "go.uber.org/zap", "github.com/sirupsen/logrus", "log",
	"github.com/aws", "google.golang.org/grpc",
	"os", "net", "syscall", "io/ioutil", "crypto/rand", "plugin", "expvar", "runtime/debug",
}

// pureDespite are parts of the trees above that only compute.
var pureDespite = []string{"net/netip", "net/url", "github.com/aws/karpenter-provider-aws/pkg/apis"}

// clocks are the functions of package time that read a clock or wait for one.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// seeded are the functions of math/rand that make a generator from a seed;
// every other one draws from the global source.
var seeded = []string{"New", "NewSource", "NewPCG", "NewChaCha8", "NewZipf"}

// goroutines lists the functions, as folder.Function, that may start
// goroutines, because they wait for all of them before they return.
var goroutines = []string{}

func pure(p *Package, f *File) bool {
	return !f.Test && !support(p.Dir) &&
		slices.ContainsFunc(pureRoots, func(root string) bool { return within(p.Dir, root) })
}

func pureImports(t *Tree, p *Package, f *File) []Violation {
	if !pure(p, f) {
		return nil
	}
	var out []Violation
	for _, imp := range t.imports(f) {
		covers := func(tree string) bool { return within(imp.path, tree) }
		if slices.ContainsFunc(impure, covers) && !slices.ContainsFunc(pureDespite, covers) {
			out = append(out, Violation{rulePurity, imp.pos, fmt.Sprintf("%s must not import %s", p.Dir, imp.path)})
		}
	}
	return out
}

// banned says why a function must not be used by pure code; empty if it may.
func banned(pkg, name string) string {
	switch {
	case pkg == "time" && slices.Contains(clocks, name):
		return "reads a clock; time comes in as data"
	case (pkg == "math/rand" || pkg == "math/rand/v2") && !slices.Contains(seeded, name) && ast.IsExported(name) && !typeName(name):
		return "draws from the global source; seed a generator from the input"
	case pkg == "k8s.io/apimachinery/pkg/apis/meta/v1" && (name == "Now" || name == "NowMicro"):
		return "reads a clock; time comes in as data"
	case pkg == "k8s.io/apimachinery/pkg/util/uuid" || pkg == "k8s.io/apimachinery/pkg/util/rand":
		return "draws from the global source; names come from the input"
	}
	return ""
}

// typeName reports whether a name of math/rand is a type: types carry no
// randomness of their own.
func typeName(name string) bool {
	return slices.Contains([]string{"Rand", "Source", "Source64", "Zipf", "PCG", "ChaCha8"}, name)
}

// pureCalls finds uses of functions that make a result depend on more than the
// arguments. A mention is enough: passing time.Now as a value reads the clock
// as well.
func pureCalls(t *Tree, p *Package, f *File) []Violation {
	if !pure(p, f) {
		return nil
	}
	names := localNames(t, f)
	var out []Violation
	for _, imp := range t.imports(f) {
		if imp.spec.Name != nil && imp.spec.Name.Name == "." {
			out = append(out, Violation{rulePurity, imp.pos, "a dot import hides what is called"})
		}
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok || id.Obj != nil { // Obj is set for a local name that shadows the package
			return true
		}
		pkg, ok := names[id.Name]
		if !ok {
			return true
		}
		if why := banned(pkg, sel.Sel.Name); why != "" {
			out = append(out, Violation{rulePurity, t.pos(sel), fmt.Sprintf("%s.%s %s", id.Name, sel.Sel.Name, why)})
		}
		return true
	})
	return out
}

// localNames maps the names under which a file knows its imports to their
// paths.
func localNames(t *Tree, f *File) map[string]string {
	names := map[string]string{}
	for _, imp := range t.imports(f) {
		name := path.Base(imp.path)
		if strings.HasPrefix(name, "v") && len(name) > 1 {
			if _, err := strconv.Atoi(name[1:]); err == nil && imp.path != "k8s.io/apimachinery/pkg/apis/meta/v1" {
				name = path.Base(path.Dir(imp.path))
			}
		}
		if imp.spec.Name != nil {
			name = imp.spec.Name.Name
		}
		names[name] = imp.path
	}
	return names
}

// pureStatements finds go statements outside the functions that are known to
// wait for what they start.
func pureStatements(t *Tree, p *Package, f *File) []Violation {
	if !pure(p, f) {
		return nil
	}
	var out []Violation
	for _, decl := range f.Syntax.Decls {
		name := ""
		if fn, ok := decl.(*ast.FuncDecl); ok {
			name = fn.Name.Name
		}
		if slices.Contains(goroutines, p.Dir+"."+name) {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				out = append(out, Violation{rulePurity, t.pos(g), "a goroutine may outlive the call; list the function in internal/archtest if it waits"})
			}
			return true
		})
	}
	return out
}
