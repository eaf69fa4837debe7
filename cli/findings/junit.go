package findings

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/millwright-dev/millwright/doctor"
)

type suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Cases    []testcase
}

type testcase struct {
	XMLName xml.Name `xml:"testcase"`
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *failure `xml:"failure,omitempty"`
	Skipped *failure `xml:"skipped,omitempty"`
}

type failure struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// junit has a test for each finding, which has failed, one for each check that finds nothing, and
// a skipped one for each thing that was not examined.
func (r Report) junit(w io.Writer) error {
	out := suite{Name: "millwright doctor", Failures: len(r.Findings)}
	for _, check := range doctor.Checks() {
		found := false
		for _, f := range r.Findings {
			if f.Check != check {
				continue
			}
			found = true
			do, text, err := mend(f)
			if err != nil {
				return err
			}
			out.Cases = append(out.Cases, testcase{Class: check, Name: f.Object.String() + " " + f.Field, Failure: &failure{
				Type: string(f.Severity), Message: f.Field + ": " + f.Message, Text: fmt.Sprintf("%s\n%s\n%s", f.Advice, do, text),
			}})
		}
		if !found {
			out.Cases = append(out.Cases, testcase{Class: check, Name: check})
		}
	}
	for _, what := range r.Skipped {
		out.Cases = append(out.Cases, testcase{Class: "not examined", Name: what, Skipped: &failure{Message: "not examined"}})
	}
	out.Skipped = len(r.Skipped)
	out.Tests = len(out.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("writing XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}
