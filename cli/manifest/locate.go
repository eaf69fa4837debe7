package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
)

// locate finds the innermost value of a JSON document that cannot be decoded
// into a Go type: its path, and why. Decoders name the Go type, or, for types
// that decode themselves such as quantities, no place at all.
func locate(raw json.RawMessage, into reflect.Type, path string) (string, error) {
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, reflect.New(into).Interface())
	if err == nil {
		return "", nil
	}
	for into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	if _, own := reflect.New(into).Interface().(json.Unmarshaler); own {
		return path, err
	}
	if inner, why := locateInside(raw, into, path); why != nil {
		return inner, why
	}
	return path, wrongType(raw, into)
}

func locateInside(raw json.RawMessage, into reflect.Type, path string) (string, error) {
	switch into.Kind() {
	case reflect.Struct:
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			return "", nil
		}
		return locateFields(fields, into, path)
	case reflect.Map:
		var entries map[string]json.RawMessage
		if json.Unmarshal(raw, &entries) != nil {
			return "", nil
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			if inner, why := locate(entries[key], into.Elem(), path+"["+key+"]"); why != nil {
				return inner, why
			}
		}
	case reflect.Slice:
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return "", nil
		}
		for i, e := range elements {
			if inner, why := locate(e, into.Elem(), fmt.Sprintf("%s[%d]", path, i)); why != nil {
				return inner, why
			}
		}
	}
	return "", nil
}

func locateFields(fields map[string]json.RawMessage, into reflect.Type, path string) (string, error) {
	for i := range into.NumField() {
		f := into.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			if inner, why := locateFields(fields, embedded, path); why != nil {
				return inner, why
			}
			continue
		}
		value, ok := fields[name]
		if !ok {
			continue
		}
		if inner, why := locate(value, f.Type, strings.TrimPrefix(path+"."+name, ".")); why != nil {
			return inner, why
		}
	}
	return "", nil
}

// wrongType says what was expected and what was found, in the words of YAML.
func wrongType(raw json.RawMessage, into reflect.Type) error {
	return fmt.Errorf("want %s, got %s", typeWord(into), valueWord(raw))
}

func typeWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}

func valueWord(raw json.RawMessage) string {
	const long = 40
	text := string(raw)
	if len(text) > long {
		text = text[:long] + "…"
	}
	switch raw[0] {
	case '"':
		return "the string " + text
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return text
	}
	return "the number " + text
}

// lineOf finds the line of a field in a document's text, counted from the
// text's first as zero. It follows the path as far as the text has it.
func lineOf(text []byte, path string) int {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return 0
	}
	node, line := root.Content[0], root.Content[0].Line
	for _, step := range steps(path) {
		next, at := child(node, step)
		if next == nil {
			break
		}
		node, line = next, at
	}
	return line - 1
}

// child is the value of a key or an index, and the line on which it begins.
func child(node *yaml.Node, step string) (*yaml.Node, int) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1], node.Content[i].Line
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i].Line
		}
	}
	return nil, 0
}

// steps cuts a path such as spec.requirements[0].key or metadata.labels[a.b/c].
func steps(path string) []string {
	var out []string
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
		case '[':
			inner, rest, ok := strings.Cut(path[1:], "]")
			if !ok {
				return out
			}
			out, path = append(out, inner), rest
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			out, path = append(out, path[:end]), path[end:]
		}
	}
	return out
}
