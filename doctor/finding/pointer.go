package finding

import (
	"strconv"
	"strings"
)

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// Pointer is the JSON pointer (RFC 6901) of the keys and indices that lead to a value.
func Pointer(steps ...string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString("/" + escape.Replace(s))
	}
	return b.String()
}

// Steps are the keys and indices of a JSON pointer.
func Steps(pointer string) []string {
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, s := range steps {
		steps[i] = unescape.Replace(s)
	}
	return steps
}

// At is the value to which steps lead in one that JSON was read into; false if there is none.
func At(value any, steps []string) (any, bool) {
	for _, s := range steps {
		switch v := value.(type) {
		case map[string]any:
			below, ok := v[s]
			if !ok {
				return nil, false
			}
			value = below
		case []any:
			i, ok := Index(v, s)
			if !ok {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// Index is a step as the index of an element of a list; false if it is none.
func Index(list []any, step string) (int, bool) {
	i, err := strconv.Atoi(step)
	return i, err == nil && i >= 0 && i < len(list)
}
