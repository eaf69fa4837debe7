package checkup

import (
	"fmt"
	"os"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/doctor"
)

// Baseline is findings that are accepted for a time.
type Baseline struct {
	Accepted []Accepted `json:"accepted"`
}

// Accepted is one of them.
type Accepted struct {
	Check string `json:"check"`
	// Object is as findings name it, such as "daemonset/cilium -n kube-system".
	Object string `json:"object"`
	// Field is as findings name it; without one every finding of the check about the object is
	// meant.
	Field string `json:"field,omitempty"`
	// Until is the last day on which it is accepted, as in 2027-03-31.
	Until string `json:"until"`
	// Reason is for those who read the file.
	Reason string `json:"reason,omitempty"`
}

const day = "2006-01-02"

// ReadBaseline reads a file. Fields that are not known, checks that there are not, and days
// that mean nothing are errors.
func ReadBaseline(file string) (*Baseline, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the baseline: %w", err)
	}
	var b Baseline
	raw, err := yaml.YAMLToJSONStrict(text)
	if err == nil {
		err = decode.Strict(raw, &b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i, a := range b.Accepted {
		if !slices.Contains(doctor.Checks(), a.Check) {
			return nil, fmt.Errorf("%s: accepted[%d].check: there is no check %q", file, i, a.Check)
		}
		if _, err := time.Parse(day, a.Until); err != nil {
			return nil, fmt.Errorf("%s: accepted[%d].until: %q is not a day such as 2027-03-31", file, i, a.Until)
		}
	}
	return &b, nil
}

func (a Accepted) means(f doctor.Finding) bool {
	return a.Check == f.Check && a.Object == f.Object.String() && (a.Field == "" || a.Field == f.Field)
}

// expired reports whether the last day has passed, in UTC.
func (a Accepted) expired(now time.Time) bool {
	until, err := time.Parse(day, a.Until)
	return err != nil || !now.UTC().Before(until.AddDate(0, 0, 1))
}

// Split parts findings into new ones and accepted ones. It says what is wrong with the baseline
// itself: what has expired, and what is not found any more.
func (b *Baseline) Split(findings []doctor.Finding, now time.Time) (fresh, accepted []doctor.Finding, remarks []string) {
	used := make([]bool, len(b.Accepted))
	for _, f := range findings {
		known := false
		for i, a := range b.Accepted {
			if !a.means(f) {
				continue
			}
			used[i] = true
			known = known || !a.expired(now)
		}
		if known {
			accepted = append(accepted, f)
		} else {
			fresh = append(fresh, f)
		}
	}
	for i, a := range b.Accepted {
		switch {
		case !used[i]:
			remarks = append(remarks, fmt.Sprintf("the baseline accepts %s of %s, which is not found any more", a.Check, a.Object))
		case a.expired(now):
			remarks = append(remarks, fmt.Sprintf("the baseline accepted %s of %s until %s", a.Check, a.Object, a.Until))
		}
	}
	return fresh, accepted, remarks
}

// lease is how long findings are accepted that are written to a baseline.
const lease = 90 * 24 * time.Hour

// WriteBaseline writes a file that accepts findings for 90 days. It refuses to replace one.
func WriteBaseline(file string, findings []doctor.Finding, now time.Time) error {
	b := Baseline{Accepted: []Accepted{}}
	for _, f := range findings {
		b.Accepted = append(b.Accepted, Accepted{Check: f.Check, Object: f.Object.String(), Field: f.Field, Until: now.UTC().Add(lease).Format(day)})
	}
	text, err := yaml.Marshal(b)
	if err != nil {
		return fmt.Errorf("writing the baseline: %w", err)
	}
	return create(file, text)
}

// create writes a new file.
func create(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if _, err := f.Write(text); err != nil {
		_ = f.Close()
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return f.Close()
}
