package terraform_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[{}\[\]=,()]|[A-Za-z_][A-Za-z0-9_-]*|-?[0-9][0-9.eE+-]*`)

// reader reads what fixes are written in: a part of Terraform's language.
type reader struct{ tokens []string }

// argumentOf is the value of the argument that a fix sets; calls such as jsonencode are what
// they are called with.
func argumentOf(text, name string) (any, error) {
	_, rest, ok := strings.Cut(text, name+" = ")
	if !ok {
		return nil, fmt.Errorf("no argument %s in %s", name, text)
	}
	r := reader{token.FindAllString(rest, -1)}
	return r.value()
}

func (r *reader) next() string {
	if len(r.tokens) == 0 {
		return ""
	}
	t := r.tokens[0]
	r.tokens = r.tokens[1:]
	return t
}

func (r *reader) more(end string) bool {
	for len(r.tokens) > 0 && r.tokens[0] == "," {
		r.next()
	}
	if len(r.tokens) > 0 && r.tokens[0] != end {
		return true
	}
	r.next()
	return false
}

func (r *reader) value() (any, error) {
	switch t := r.next(); t {
	case "{":
		out := m{}
		for r.more("}") {
			key := strings.Trim(r.next(), `"`)
			if eq := r.next(); eq != "=" {
				return nil, fmt.Errorf("%q after the key %s", eq, key)
			}
			v, err := r.value()
			if err != nil {
				return nil, err
			}
			out[key] = v
		}
		return out, nil
	case "[":
		out := []any{}
		for r.more("]") {
			v, err := r.value()
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case "jsonencode", "yamlencode":
		r.next()
		v, err := r.value()
		r.next()
		return v, err
	default:
		var v any
		err := json.Unmarshal([]byte(strings.NewReplacer("$${", "${", "%%{", "%{").Replace(t)), &v)
		return v, err
	}
}
