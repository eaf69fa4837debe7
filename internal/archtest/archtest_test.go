package archtest

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const root = "../.."

func TestTheTreeKeepsTheRulesOfTheHouse(t *testing.T) {
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Packages) < 5 {
		t.Fatalf("found %d packages: the check does not see the tree", len(tree.Packages))
	}
	for _, v := range Check(tree) {
		t.Error(v)
	}
}

func TestPureCodeReachesNoClientThroughAnybodyElse(t *testing.T) {
	g, err := ReadGraph(root, "./engine/...")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := g["k8s.io/api/core/v1"]; !ok {
		t.Fatal("the graph lacks the engine's dependencies")
	}
	for _, v := range CheckReach(g, "github.com/millwright-dev/millwright") {
		t.Error(v)
	}
}

func TestAReachedClientIsReportedWithTheChainThatLeadsThere(t *testing.T) {
	g := Graph{
		"m.io/m/engine/drain": {"fmt", "k8s.io/component-helpers/x", "m.io/m/api"},
		"k8s.io/component-helpers/x": {
			"fmt", "k8s.io/client-go/kubernetes",
		},
		"m.io/m/engine/plan": {"fmt"},
		"m.io/m/cluster":     {"k8s.io/client-go/kubernetes"},
	}
	got := CheckReach(g, "m.io/m")
	if len(got) != 1 || got[0].Pos != "engine/drain" ||
		got[0].Message != "reaches k8s.io/component-helpers/x → k8s.io/client-go/kubernetes" {
		t.Errorf("got %v", got)
	}
}

func TestTheAllowedArrowsHaveNoCycle(t *testing.T) {
	var visit func(l layer, path []string)
	visit = func(l layer, path []string) {
		if slices.Contains(path, l.dir) {
			t.Errorf("the arrows allow a cycle: %s", strings.Join(append(path, l.dir), " → "))
			return
		}
		path = append(slices.Clone(path), l.dir)
		for _, dir := range l.sees {
			next, ok := layerOf(strings.ReplaceAll(dir, "*", "any"))
			if !ok {
				t.Errorf("%s sees %s, which is no layer", l.dir, dir)
				continue
			}
			visit(next, path)
		}
	}
	for _, l := range append(slices.Clone(layers), provider("cloud/any")) {
		visit(l, nil)
	}
}

// tree loads one file of a module m.io/m.
func tree(t *testing.T, name, src string) *Tree {
	t.Helper()
	loaded, err := Load(fstest.MapFS{
		"go.mod": {Data: []byte("module m.io/m\n")},
		name:     {Data: []byte(src)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestEachRuleFindsItsViolation(t *testing.T) {
	const doc = "// Package x is documented.\npackage x\n"
	imports := func(path string) string { return doc + "import _ \"" + path + "\"\n" }
	body := func(imp, code string) string { return doc + "import \"" + imp + "\"\n" + code }
	for _, c := range []struct {
		name, file, src string
		rule, pos, says string
	}{
		{"an unknown folder", "lib/x/x.go", doc, ruleFolder, "lib/x", "does not know"},
		{"code in the root", "x.go", doc, ruleFolder, ".", "does not know"},

		{"engine imports cluster", "engine/x/x.go", imports("m.io/m/cluster"), ruleArrow, "engine/x/x.go:3", "engine must not import cluster"},
		{"engine imports a provider in a test", "engine/x/x_test.go", imports("m.io/m/cloud/kwok"), ruleArrow, "engine/x/x_test.go:3", "must not import cloud/kwok"},
		{"engine imports what is internal", "engine/x/x.go", imports("m.io/m/internal/story"), ruleArrow, "engine/x/x.go:3", "engine must not import internal/story"},
		{"api imports engine", "api/v1alpha1/x.go", imports("m.io/m/engine/plan"), ruleArrow, "api/v1alpha1/x.go:3", "must not import engine/plan"},
		{"cluster imports cloud", "cluster/x.go", imports("m.io/m/cloud"), ruleArrow, "cluster/x.go:3", "must not import cloud"},
		{"the port imports a provider", "cloud/x.go", imports("m.io/m/cloud/kwok"), ruleArrow, "cloud/x.go:3", "must not import cloud/kwok"},
		{"a provider imports another", "cloud/aws/x.go", imports("m.io/m/cloud/kwok"), ruleArrow, "cloud/aws/x.go:3", "cloud/aws must not import cloud/kwok"},
		{"what is known of EC2 imports the port", "cloud/ec2/x.go", imports("m.io/m/cloud"), ruleArrow, "cloud/ec2/x.go:3", "must not import cloud"},
		{"a provider imports a controller", "cloud/kwok/in/x.go", imports("m.io/m/controllers/claim"), ruleArrow, "cloud/kwok/in/x.go:3", "must not import controllers/claim"},
		{"a controller imports a provider", "controllers/claim/x.go", imports("m.io/m/cloud/kwok"), ruleArrow, "controllers/claim/x.go:3", "must not import cloud/kwok"},
		{"cmd imports past the command line", "cmd/millwright/x.go", imports("m.io/m/controllers"), ruleArrow, "cmd/millwright/x.go:3", "must not import controllers"},
		{"somebody imports the sandbox", "cli/x.go", imports("m.io/m/sandbox/pki"), ruleArrow, "cli/x.go:3", "must not import sandbox/pki"},
		{"a test imports the bench", "controllers/x_test.go", imports("m.io/m/bench"), ruleArrow, "controllers/x_test.go:3", "must not import bench"},

		{"Karpenter's scheduler", "cli/x.go", imports("sigs.k8s.io/karpenter/pkg/scheduling"), ruleForeign, "cli/x.go:3", "nowhere"},
		{"Karpenter's AWS provider in a test", "cloud/aws/x_test.go", imports("github.com/aws/karpenter-provider-aws/pkg/providers/pricing"), ruleForeign, "cloud/aws/x_test.go:3", "nowhere"},
		{"Karpenter's API in the engine", "engine/x/x.go", imports("sigs.k8s.io/karpenter/pkg/apis/v1"), ruleForeign, "engine/x/x.go:3", "only in cluster"},
		{"Karpenter's API in the port", "cloud/x.go", imports("sigs.k8s.io/karpenter/pkg/apis/v1"), ruleForeign, "cloud/x.go:3", "only in cluster"},
		{"an SDK outside of its provider", "cli/x.go", imports("github.com/aws/aws-sdk-go-v2/service/ec2"), ruleForeign, "cli/x.go:3", "only in cloud/aws"},

		{"a conformance suite in the product", "cli/x.go", imports("m.io/m/cloud/cloudtest"), ruleTestOnly, "cli/x.go:3", "for tests only"},

		{"client-go in the engine", "engine/x/x.go", imports("k8s.io/client-go/kubernetes"), rulePurity, "engine/x/x.go:3", "must not import k8s.io/client-go"},
		{"a logger in the engine", "engine/x/x.go", imports("log/slog"), rulePurity, "engine/x/x.go:3", "log/slog"},
		{"controller-runtime in the API", "api/v1alpha1/x.go", imports("sigs.k8s.io/controller-runtime/pkg/scheme"), rulePurity, "api/v1alpha1/x.go:3", "controller-runtime"},
		{"files in the engine", "engine/x/x.go", imports("os"), rulePurity, "engine/x/x.go:3", "must not import os"},
		{"the network in the engine", "engine/x/x.go", imports("net/http"), rulePurity, "engine/x/x.go:3", "must not import net/http"},
		{"time.Now", "engine/x/x.go", body("time", "var t = time.Now()\n"), rulePurity, "engine/x/x.go:4", "time.Now reads a clock"},
		{"time.Now as a value", "engine/x/x.go", body("time", "var clock = time.Now\n"), rulePurity, "engine/x/x.go:4", "time.Now reads a clock"},
		{"time.Since under another name", "engine/x/x.go", doc + "import tm \"time\"\nfunc f(t tm.Time) any { return tm.Since(t) }\n", rulePurity, "engine/x/x.go:4", "tm.Since reads a clock"},
		{"a dot import", "engine/x/x.go", doc + "import . \"time\"\n", rulePurity, "engine/x/x.go:3", "dot import"},
		{"metav1.Now", "engine/x/x.go", doc + "import metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\nvar t = metav1.Now()\n", rulePurity, "engine/x/x.go:4", "metav1.Now reads a clock"},
		{"global randomness", "engine/x/x.go", body("math/rand/v2", "var n = rand.IntN(3)\n"), rulePurity, "engine/x/x.go:4", "rand.IntN draws from the global source"},
		{"a goroutine", "engine/x/x.go", doc + "func f() {\n\tgo f()\n}\n", rulePurity, "engine/x/x.go:4", "outlive the call"},

		{"no doc comment", "engine/x/x.go", "package x\n", ruleDoc, "engine/x", "has no doc comment"},
		{"a licence instead of a doc comment", "engine/x/x.go", "// Copyright.\n\npackage x\n", ruleDoc, "engine/x", "has no doc comment"},
		{"documentation of a former name", "engine/x/x.go", doc + "\n// hold waits.\nfunc wait() {}\n", ruleDoc, "engine/x/x.go:5", `begins with "hold"`},
		{"a name that says nothing", "engine/utils/x.go", "// Package utils is documented.\npackage utils\n", ruleName, "engine/utils", "named after nothing"},
		{"a word that stands for no term", "controllers/nodepool/x.go", "package nodepool\n\n// Nobody waits.\nvar x = 1\n", ruleWords, "controllers/nodepool/x.go:3", `"Nobody"`},
		{"a file that has grown out of hand", "engine/x/x.go", doc + strings.Repeat("\n", maxFile), ruleSize, "engine/x/x.go", "702 lines"},
		{"a function that has grown out of hand", "engine/x/x.go", doc + "func f() {\n" + strings.Repeat("\n", maxFunction) + "}\n", ruleSize, "engine/x/x.go:3", "f has 102 lines"},
		{"init", "cloud/kwok/x.go", doc + "func init() {}\n", ruleInit, "cloud/kwok/x.go:3", "init runs on import"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Check(tree(t, c.file, c.src))
			if !slices.ContainsFunc(got, func(v Violation) bool {
				return v.Rule == c.rule && v.Pos == c.pos && strings.Contains(v.Message, c.says)
			}) {
				t.Errorf("want %s: %s: … %s …\ngot %v", c.rule, c.pos, c.says, got)
			}
		})
	}
}

func TestWhatTheRulesAllowIsNotReported(t *testing.T) {
	const doc = "// Package x is documented.\npackage x\n"
	for name, c := range map[string]struct{ file, src string }{
		"the engine imports itself and the API":        {"engine/x/x.go", doc + "import (\n_ \"m.io/m/api/v1alpha1\"\n_ \"m.io/m/engine/plan\"\n)\n"},
		"a controller's test uses the simulated cloud": {"controllers/claim/x_test.go", "package x\nimport _ \"m.io/m/cloud/kwok\"\n"},
		"a provider uses what is known of EC2":         {"cloud/aws/x.go", doc + "import _ \"m.io/m/cloud/ec2\"\n"},
		"the command line wires a provider":            {"cli/x.go", doc + "import _ \"m.io/m/cloud/kwok\"\n"},
		"durations, seeds and addresses are values": {"engine/x/x.go", doc + "import (\n\"time\"\n\"math/rand/v2\"\n\"net/netip\"\n)\n" +
			"var d = time.Second\nvar r = rand.New(rand.NewPCG(1, 2))\nvar a netip.Addr\nfunc f(r *rand.Rand, t time.Time) bool { return t.After(t) }\n"},
		"a local name that shadows a package":  {"engine/x/x.go", doc + "import \"time\"\ntype c struct{ Now time.Time }\nfunc f(time c) any { return time.Now }\n"},
		"the engine's tests may read files":    {"engine/x/x_test.go", "package x\nimport _ \"os\"\n"},
		"support code of tests may read files": {"engine/enginetest/x.go", "// Package enginetest is documented.\npackage enginetest\nimport _ \"os\"\n"},
		"generated code has its own size":      {"engine/x/zz_generated.go", "// Code generated by gen. DO NOT EDIT.\n\n// Package x is documented.\npackage x\n" + strings.Repeat("\n", maxFile)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range Check(tree(t, c.file, c.src)) {
				t.Error(v)
			}
		})
	}
}

func TestModulesInsideTheTreeAndTestdataAreLeftOut(t *testing.T) {
	loaded, err := Load(fstest.MapFS{
		"go.mod":                   {Data: []byte("module m.io/m\n")},
		"sandbox/go.mod":           {Data: []byte("module m.io/m/sandbox\n")},
		"sandbox/main.go":          {Data: []byte("package main\n")},
		"engine/x/testdata/bad.go": {Data: []byte("not Go at all")},
		".cache/x.go":              {Data: []byte("package cache\n")},
		"engine/x/x.go":            {Data: []byte("package x\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Packages) != 1 || loaded.Packages[0].Dir != "engine/x" {
		t.Errorf("loaded %d packages, want engine/x alone", len(loaded.Packages))
	}
}
