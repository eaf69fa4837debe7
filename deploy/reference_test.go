package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/golden"
)

const referenceDir = "../docs/reference"

// The reference has a page for each kind, with every field, in the words of kubectl explain.
func TestTheReferenceHasEveryFieldOfEveryKind(t *testing.T) {
	list, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	var index strings.Builder
	index.WriteString("# Reference of the kinds\n\nEvery field, as `kubectl explain` describes it. The pages are written by a test from the definitions in [deploy/crds](../../deploy/crds) (`go test ./deploy -run Reference -rewrite`).\n\n| kind | group and version | |\n|---|---|---|\n")
	for _, c := range list {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(c.YAML, &crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			if v.Served {
				page := strings.ToLower(crd.Spec.Names.Kind) + ".md"
				want[page] = reference(&crd, &v)
				fmt.Fprintf(&index, "| [%s](%s) | %s/%s | %s |\n", crd.Spec.Names.Kind, page, crd.Spec.Group, v.Name, cell(firstSentence(v.Schema.OpenAPIV3Schema.Description)))
			}
		}
	}
	want["README.md"] = index.String()
	for name, text := range want {
		golden.Compare(t, filepath.Join(referenceDir, name), text)
	}
	files, err := filepath.Glob(filepath.Join(referenceDir, "*.md"))
	if err != nil || len(files) != len(want) {
		t.Errorf("%d pages for %d kinds, %v", len(files), len(want)-1, err)
	}
}

func reference(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) string {
	var out strings.Builder
	schema := v.Schema.OpenAPIV3Schema
	names := append([]string{crd.Spec.Names.Plural}, crd.Spec.Names.ShortNames...)
	fmt.Fprintf(&out, "# %s\n\n`apiVersion: %s/%s`, `kind: %s`; in commands `%s`. Written from [%s](../../deploy/crds/%[7]s).\n\n%[8]s\n",
		crd.Spec.Names.Kind, crd.Spec.Group, v.Name, crd.Spec.Names.Kind, strings.Join(names, "`, `"),
		"its definition", crd.Spec.Group+"_"+crd.Spec.Names.Plural+".yaml", text(schema.Description))
	for _, part := range []string{"spec", "status"} {
		p, ok := schema.Properties[part]
		if !ok {
			continue
		}
		fmt.Fprintf(&out, "\n## %s\n\n", part)
		if p.Description != "" {
			fmt.Fprintf(&out, "%s\n\n", text(p.Description))
		}
		rules(&out, p.XValidations)
		out.WriteString("| field | type | default | |\n|---|---|---|---|\n")
		fields(&out, part, &p)
	}
	return out.String()
}

// rules are conditions on an object as a whole.
func rules(out *strings.Builder, all apiextensionsv1.ValidationRules) {
	for _, r := range all {
		fmt.Fprintf(out, "- %s\n", text(cmp.Or(r.Message, "`"+r.Rule+"`")))
	}
	if len(all) > 0 {
		out.WriteString("\n")
	}
}

// fields writes a row for each field below a path, depth first and in order of names.
func fields(out *strings.Builder, path string, s *apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		at := path + "." + name
		required := ""
		if slices.Contains(s.Required, name) {
			required = "required"
		}
		fallback := required
		if p.Default != nil {
			fallback = "`" + string(p.Default.Raw) + "`"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", at, cell(typeOf(&p)), cell(fallback), cell(p.Description+allowed(&p)))
		below, suffix := &p, ""
		for below.Items != nil && below.Items.Schema != nil {
			below, suffix = below.Items.Schema, suffix+"[]"
		}
		if below.AdditionalProperties != nil && below.AdditionalProperties.Schema != nil {
			below, suffix = below.AdditionalProperties.Schema, suffix+".*"
		}
		fields(out, at+suffix, below)
	}
}

func typeOf(p *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case p.XIntOrString:
		return "integer or string"
	case p.Type == "array" && p.Items != nil && p.Items.Schema != nil:
		return "list of " + typeOf(p.Items.Schema)
	case p.Type == "object" && p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(p.AdditionalProperties.Schema)
	case p.Format != "":
		return p.Type + ", " + p.Format
	}
	return cmp.Or(p.Type, "any")
}

// allowed says what values a field takes besides what its description says.
func allowed(p *apiextensionsv1.JSONSchemaProps) string {
	var out []string
	for below := p; below != nil; {
		var values []string
		for _, e := range below.Enum {
			values = append(values, strings.Trim(string(e.Raw), `"`))
		}
		if len(values) > 0 {
			out = append(out, "One of "+strings.Join(values, ", ")+".")
		}
		if below.Pattern != "" {
			out = append(out, "Matches `"+below.Pattern+"`.")
		}
		if below.Minimum != nil {
			out = append(out, fmt.Sprintf("At least %g.", *below.Minimum))
		}
		if below.Maximum != nil {
			out = append(out, fmt.Sprintf("At most %g.", *below.Maximum))
		}
		for _, r := range below.XValidations {
			if r.Message != "" {
				out = append(out, "Rule: "+r.Message+".")
			}
		}
		if below.Items == nil {
			break
		}
		below = below.Items.Schema
	}
	if len(out) == 0 {
		return ""
	}
	return " " + strings.Join(out, " ")
}

func text(s string) string { return strings.Join(strings.Fields(s), " ") }

// cell is text as a cell of a table has it: a bar or a line break would end it, and what looks
// like a tag is not one.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(text(s))
}

func firstSentence(s string) string {
	s = text(s)
	if i := strings.Index(s, ". "); i > 0 {
		s = s[:i+1]
	}
	return s
}
