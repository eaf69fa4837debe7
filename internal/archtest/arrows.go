package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// layer is a part of the house and what its code may import of the others. A
// layer may always import itself, and every test what is internal.
type layer struct {
	// dir is the folder; a longer one wins over its parent.
	dir string
	// sees lists layers by folder.
	sees []string
	// tests lists what test files may import on top of it.
	tests []string
}

// layers is api ← engine ← {cluster, cloud} ← controllers ← cmd, with the
// command line and the preflight checks beside the controllers. Providers,
// cloud/<p>, are added by layerOf: each is a layer of its own.
var layers = []layer{
	{dir: "api"},
	{dir: "engine", sees: []string{"api"}},
	{dir: "cluster", sees: []string{"api", "engine"}},
	{dir: "cloud/ec2"},
	{dir: "cloud", sees: []string{"api", "engine"}},
	{dir: "controllers", sees: []string{"api", "engine", "cluster", "cloud", "doctor", "deploy"}, tests: []string{"cloud/kwok", "cloud/cloudtest"}},
	{dir: "doctor", sees: []string{"api", "engine", "cluster", "deploy"}},
	{dir: "cli", sees: []string{"api", "engine", "cluster", "cloud", "cloud/*", "controllers", "doctor", "deploy"}},
	{dir: "cmd", sees: []string{"cli"}},
	{dir: "deploy", sees: []string{"api"}},
	{dir: "examples", tests: []string{"cli", "deploy"}},
	{dir: "internal"},
}

// provider is the layer of one cloud: the port and what the port sees, never
// another provider.
func provider(dir string) layer {
	return layer{dir: dir, sees: []string{"api", "engine", "cloud", "cloud/ec2"}, tests: []string{"cloud/cloudtest", "deploy"}}
}

func layerOf(dir string) (layer, bool) {
	if rest, ok := strings.CutPrefix(dir, "cloud/"); ok && !within(dir, "cloud/ec2") {
		name, _, _ := strings.Cut(rest, "/")
		return provider("cloud/" + name), true
	}
	i := slices.IndexFunc(layers, func(l layer) bool { return within(dir, l.dir) })
	if i < 0 {
		return layer{}, false
	}
	return layers[i], true
}

func (l layer) allows(target layer, test bool) bool {
	if target.dir == l.dir || test && target.dir == "internal" {
		return true
	}
	may := l.sees
	if test {
		may = slices.Concat(l.sees, l.tests)
	}
	return slices.ContainsFunc(may, func(name string) bool { return name == target.dir || under(target.dir, name) })
}

// under reports whether a folder is below one that is written with a star.
func under(dir, star string) bool {
	parent, ok := strings.CutSuffix(star, "/*")
	return ok && strings.HasPrefix(dir, parent+"/")
}

func known(_ *Tree, p *Package) []Violation {
	if _, ok := layerOf(p.Dir); ok {
		return nil
	}
	return []Violation{{ruleFolder, p.Dir, "a folder that the house does not know: give it its arrows in internal/archtest"}}
}

func arrows(t *Tree, p *Package, f *File) []Violation {
	from, ok := layerOf(p.Dir)
	if !ok {
		return nil
	}
	var out []Violation
	for _, imp := range t.imports(f) {
		rest, inside := strings.CutPrefix(imp.path, t.Module)
		if !inside || rest != "" && rest[0] != '/' {
			continue
		}
		dir := path.Clean(strings.TrimPrefix(rest, "/"))
		to, ok := layerOf(dir)
		if !ok || !from.allows(to, f.Test || support(p.Dir)) {
			out = append(out, Violation{ruleArrow, imp.pos, fmt.Sprintf("%s must not import %s", from.dir, dir)})
		}
	}
	return out
}

// home says in which folders a foreign module, or a part of it, may be
// imported; none is nowhere. The first entry that covers an import decides.
type home struct {
	module string
	dirs   []string
}

// karpenterReaders translate Karpenter's objects; all others have the
// engine's own values.
var karpenterReaders = []string{"cluster", "controllers", "cloud/*", "doctor", "cli", "deploy", "examples"}

var homes = []home{
	{"sigs.k8s.io/karpenter/pkg/apis", karpenterReaders},
	{"sigs.k8s.io/karpenter/kwok/apis", karpenterReaders},
	{"sigs.k8s.io/karpenter", nil},
	{"github.com/aws/karpenter-provider-aws/pkg/apis", append(karpenterReaders, "api/awsv1")},
	{"github.com/aws/karpenter-provider-aws", nil},
	{"github.com/aws/aws-sdk-go-v2", []string{"cloud/aws"}},
	{"github.com/aws/aws-sdk-go", nil},
	{"github.com/aws/smithy-go", []string{"cloud/aws"}},
	{"k8s.io/kubernetes", nil},
	{"helm.sh/helm", []string{"doctor/helm"}},
}

func foreign(t *Tree, p *Package, f *File) []Violation {
	var out []Violation
	for _, imp := range t.imports(f) {
		i := slices.IndexFunc(homes, func(h home) bool { return within(imp.path, h.module) })
		if i < 0 || slices.ContainsFunc(homes[i].dirs, func(dir string) bool { return within(p.Dir, dir) || under(p.Dir, dir) }) {
			continue
		}
		where := "nowhere in this module"
		if len(homes[i].dirs) > 0 {
			where = "only in " + strings.Join(homes[i].dirs, ", ")
		}
		out = append(out, Violation{ruleForeign, imp.pos, fmt.Sprintf("%s is imported %s", imp.path, where)})
	}
	return out
}

// testOnly keeps support code of tests (enginetest, cloudtest …) out of the
// product.
func testOnly(t *Tree, p *Package, f *File) []Violation {
	if f.Test || support(p.Dir) {
		return nil
	}
	var out []Violation
	for _, imp := range t.imports(f) {
		if within(imp.path, t.Module) && support(imp.path) {
			out = append(out, Violation{ruleTestOnly, imp.pos, path.Base(imp.path) + " is for tests only"})
		}
	}
	return out
}

func support(dir string) bool { return strings.HasSuffix(dir, "test") }
