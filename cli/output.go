package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Output formats.
const (
	formatTable = "table"
	formatText  = "text"
	formatJSON  = "json"
	formatYAML  = "yaml"
)

// oneOf refuses a flag's value that is not on the list.
func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("--%s: %q is not one of %s", flag, value, strings.Join(allowed, ", "))
}

// printDocument prints a value as an indented JSON document or as YAML.
func printDocument(w io.Writer, format string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	return writeAs(w, format, b.Bytes())
}

// writeAs writes a JSON document as it is or as YAML.
func writeAs(w io.Writer, format string, document []byte) error {
	if format == formatYAML {
		var err error
		if document, err = yaml.JSONToYAML(document); err != nil {
			return err
		}
	}
	_, err := w.Write(document)
	return err
}
