package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// lines writes an object with one key on each line, in order.
func lines[V any](out *bytes.Buffer, name string, object map[string]V) error {
	fmt.Fprintf(out, "%q: {", name)
	for i, key := range slices.Sorted(maps.Keys(object)) {
		text, err := json.Marshal(object[key])
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteString(",")
		}
		fmt.Fprintf(out, "\n%q: %s", key, text)
	}
	out.WriteString("\n}")
	return nil
}
