package findings

import (
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/finding"
)

// Report is what is written.
type Report struct {
	Findings []doctor.Finding
	// Where is the place of a finding in what was written by hand, such as pools.yaml:12; it may
	// be empty.
	Where func(doctor.Finding) string
	// Skipped is what was not examined, and why.
	Skipped []string
}

// Forms are those that Write knows.
func Forms() []string { return []string{"text", "json", "yaml", "markdown", "sarif", "junit"} }

// Write writes a report in one of the Forms.
func (r Report) Write(w io.Writer, form string) error {
	switch form {
	case "json", "yaml":
		document, err := r.document()
		if err != nil {
			return err
		}
		if form == "json" {
			return writeJSON(w, document)
		}
		text, err := yaml.Marshal(document)
		if err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
		_, err = w.Write(text)
		return err
	case "markdown":
		return r.markdown(w)
	case "sarif":
		return writeJSON(w, r.sarif())
	case "junit":
		return r.junit(w)
	}
	switch {
	case len(r.Findings) == 0 && len(r.Skipped) > 0:
		_, err := fmt.Fprintln(w, "Nothing found in what was examined.")
		return err
	case len(r.Findings) == 0:
		_, err := fmt.Fprintln(w, "Nothing found.")
		return err
	}
	return finding.Print(w, r.Findings, r.Where)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// mend is how a finding is mended, ready to paste: what to do, and a text that may be empty.
func mend(f doctor.Finding) (do, text string, err error) {
	switch {
	case f.Fix != nil:
		return f.Fix.Do, f.Fix.Text, nil
	case f.Patch != nil:
		do, err = f.Patch.Command()
	}
	return do, "", err
}
