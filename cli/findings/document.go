package findings

import "github.com/millwright-dev/millwright/doctor"

// Finding is one as a document has it.
type Finding struct {
	Check    string          `json:"check"`
	Severity doctor.Severity `json:"severity"`
	Object   any             `json:"object"`
	Field    string          `json:"field"`
	At       string          `json:"at,omitempty"`
	Origin   string          `json:"origin,omitempty"`
	Message  string          `json:"message"`
	Advice   string          `json:"advice"`
	Patch    []doctor.Step   `json:"patch,omitempty"`
	// Subresource is what the patch is of, such as status.
	Subresource string      `json:"subresource,omitempty"`
	Delete      any         `json:"delete,omitempty"`
	Manifest    string      `json:"manifest,omitempty"`
	Command     string      `json:"command,omitempty"`
	Fix         *doctor.Fix `json:"fix,omitempty"`
}

// document is what a report is in JSON and YAML.
func (r Report) document() (any, error) {
	list := make([]Finding, len(r.Findings))
	for i, f := range r.Findings {
		list[i] = Finding{Check: f.Check, Severity: f.Severity, Object: f.Object, Field: f.Field, Message: f.Message, Advice: f.Advice, Origin: f.Origin, Fix: f.Fix}
		if r.Where != nil {
			list[i].At = r.Where(f)
		}
		if f.Patch == nil || f.Fix != nil {
			continue
		}
		var err error
		if list[i].Command, err = f.Patch.Command(); err != nil {
			return nil, err
		}
		list[i].Patch, list[i].Manifest, list[i].Subresource = f.Patch.Steps, f.Patch.Manifest, f.Patch.Subresource
		if f.Patch.Anew {
			list[i].Patch = nil
		}
		if f.Patch.Delete {
			list[i].Delete = f.Patch.Object
		}
	}
	return struct {
		Findings    []Finding `json:"findings"`
		NotExamined []string  `json:"notExamined,omitempty"`
	}{list, r.Skipped}, nil
}
