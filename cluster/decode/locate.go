package decode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// Locate finds the innermost value of a JSON document that cannot be decoded
// into a Go type: its path, and why. Decoders name the Go type, or, for types
// that decode themselves such as quantities, no place at all.
func Locate(raw json.RawMessage, into reflect.Type, path string) (string, error) {
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, reflect.New(into).Interface())
	if err == nil {
		return "", nil
	}
	for into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	switch _, own := reflect.New(into).Interface().(json.Unmarshaler); {
	case into == reflect.TypeFor[time.Time]() || into == reflect.TypeFor[metav1.Time]():
		return path, wrongType(raw, into)
	case own:
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
			if inner, why := Locate(entries[key], into.Elem(), path+"["+key+"]"); why != nil {
				return inner, why
			}
		}
	case reflect.Slice:
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return "", nil
		}
		for i, e := range elements {
			if inner, why := Locate(e, into.Elem(), fmt.Sprintf("%s[%d]", path, i)); why != nil {
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
		name = cmp.Or(name, f.Name)
		value, ok := fields[name]
		if !ok {
			continue
		}
		if inner, why := Locate(value, f.Type, strings.TrimPrefix(path+"."+name, ".")); why != nil {
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
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[metav1.Time]() {
			return "a time such as 2026-10-12T12:00:00Z"
		}
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

// Steps cuts a path such as spec.requirements[0].key or metadata.labels[a.b/c].
func Steps(path string) []string {
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
