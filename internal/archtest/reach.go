package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// unreachable lists modules that pure code must not pull in through another
// package either: a decision that links them can be neither small nor replayed.
var unreachable = []string{
	"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "sigs.k8s.io/karpenter",
	"github.com/aws", "github.com/prometheus",
}

// Graph maps a package to those that it imports.
type Graph map[string][]string

// ReadGraph asks the go command for everything that the pure folders reach, in
// the module at dir. It needs the modules on disk, not the network.
func ReadGraph(dir string, patterns ...string) (Graph, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Imports"}, patterns...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing imports: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	g := Graph{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return g, nil
		} else if err != nil {
			return nil, fmt.Errorf("listing imports: %w", err)
		}
		g[p.ImportPath] = p.Imports
	}
}

// CheckReach finds, for every package of the pure folders, the first forbidden
// package that it reaches, with the chain of imports that leads there.
func CheckReach(g Graph, module string) []Violation {
	var out []Violation
	for _, from := range sortedKeys(g) {
		dir, inside := strings.CutPrefix(from, module+"/")
		if !inside || !slices.ContainsFunc(pureRoots, func(root string) bool { return within(dir, root) }) {
			continue
		}
		if chain := g.chain(from, map[string]bool{}); chain != nil {
			out = append(out, Violation{rulePurity, dir, "reaches " + strings.Join(chain[1:], " → ")})
		}
	}
	return out
}

// chain is a path of imports from a package to a forbidden one, nil if there is
// none.
func (g Graph) chain(from string, seen map[string]bool) []string {
	if slices.ContainsFunc(unreachable, func(tree string) bool { return within(from, tree) }) {
		return []string{from}
	}
	seen[from] = true
	for _, next := range g[from] {
		if seen[next] {
			continue
		}
		if rest := g.chain(next, seen); rest != nil {
			return append([]string{from}, rest...)
		}
	}
	return nil
}

func sortedKeys(g Graph) []string {
	keys := make([]string, 0, len(g))
	for k := range g {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
