package archtest

import (
	"fmt"
	"go/ast"
	"regexp"
)

// homely are words that stand for a term or for a noun that the sentence lacks.
var homely = regexp.MustCompile(`(?i)\b(nobody|somebody|anybody|everybody|whoever|minds?|minded|dearer|in vain|company|patience|tally|tallies|widows?|ghosts?|impostors?)\b`)

// words refuses words that an engineer of the field would not search for.
func words(t *Tree, p *Package, f *File) []Violation {
	if f.Test {
		return nil
	}
	var out []Violation
	refuse := func(pos, text string) {
		if word := homely.FindString(text); word != "" {
			out = append(out, Violation{ruleWords, pos, fmt.Sprintf("%q: say what is meant, in the words of Kubernetes, Karpenter or operations research", word)})
		}
	}
	for _, group := range f.Syntax.Comments {
		for _, c := range group.List {
			refuse(t.pos(c), c.Text)
		}
	}
	for id := range identifiers(f.Syntax) {
		refuse(t.pos(id), id.Name)
	}
	return out
}

// identifiers yields those of a file.
func identifiers(file *ast.File) func(yield func(*ast.Ident) bool) {
	return func(yield func(*ast.Ident) bool) {
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			return !ok || yield(id)
		})
	}
}
