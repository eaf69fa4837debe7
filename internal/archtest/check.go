package archtest

import "slices"

// Check runs every rule over a tree. The result is in the order of the rules,
// then of the files.
func Check(t *Tree) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		for _, rule := range packageRules {
			out = append(out, rule(t, p)...)
		}
		for _, f := range p.Files {
			if f.Generated {
				continue
			}
			for _, rule := range fileRules {
				out = append(out, rule(t, p, f)...)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Violation) int { return ruleOrder(a.Rule) - ruleOrder(b.Rule) })
	return out
}

var packageRules = []func(*Tree, *Package) []Violation{known, documented, named, packageSize}

var fileRules = []func(*Tree, *Package, *File) []Violation{
	arrows, foreign, testOnly,
	pureImports, pureCalls, pureStatements,
	fileSize, functionSize, docNames, noInit, words,
}

// Rules, in the order in which violations are listed.
const (
	ruleFolder   = "folder"
	ruleArrow    = "arrow"
	ruleForeign  = "foreign module"
	ruleTestOnly = "test support"
	rulePurity   = "purity"
	ruleDoc      = "documentation"
	ruleName     = "package name"
	ruleSize     = "size"
	ruleInit     = "init"
	ruleWords    = "words"
)

func ruleOrder(rule string) int {
	return slices.Index([]string{
		ruleFolder, ruleArrow, ruleForeign, ruleTestOnly, rulePurity, ruleDoc, ruleName, ruleSize, ruleInit, ruleWords,
	}, rule)
}
