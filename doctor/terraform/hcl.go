package terraform

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// identifier is a name that Terraform's language takes without quotes.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// expression writes a value in Terraform's language, its lines after the first indented.
func expression(value any, indent string) string {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return "{}"
		}
		var b strings.Builder
		b.WriteString("{\n")
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name := key
			if !identifier.MatchString(key) {
				name = quoted(key)
			}
			fmt.Fprintf(&b, "%s  %s = %s\n", indent, name, expression(v[key], indent+"  "))
		}
		b.WriteString(indent + "}")
		return b.String()
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		var b strings.Builder
		b.WriteString("[\n")
		for _, e := range v {
			fmt.Fprintf(&b, "%s  %s,\n", indent, expression(e, indent+"  "))
		}
		b.WriteString(indent + "]")
		return b.String()
	case string:
		return quoted(v)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "null" // only maps, lists, strings, numbers and booleans come here
	}
	return string(text)
}

// quoted is a string as a literal: JSON's escapes are Terraform's, and what would begin an
// interpolation is doubled.
func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	out := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text))
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(out)
}
