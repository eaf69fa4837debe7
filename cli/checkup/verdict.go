package checkup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/doctor"
)

// Severities from which on an examination fails.
const (
	never   = "never"
	anyKind = "warning"
)

// Options is one examination: what is given, and what is done with the findings.
type Options struct {
	Given
	FailOn, Baseline, WriteBaseline, FixDir string
}

// AddFlags defines the flags that fill it.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Given.AddFlags(flags)
	flags.StringVar(&o.FailOn, "fail-on", string(doctor.Error), "the severity that ends with status 1: error, warning or never")
	flags.StringVar(&o.Baseline, "baseline", "", "file of findings that are accepted, each until a day")
	flags.StringVar(&o.WriteBaseline, "write-baseline", "", "write a new baseline that accepts what is found now for 90 days")
	flags.StringVar(&o.FixDir, "fix-dir", "", "write the fixes as files into a new or empty folder")
}

// Validate refuses values that mean nothing.
func (o *Options) Validate() error {
	if allowed := []string{string(doctor.Error), anyKind, never}; !slices.Contains(allowed, o.FailOn) {
		return fmt.Errorf("--fail-on: %q is not one of %s", o.FailOn, strings.Join(allowed, ", "))
	}
	return o.Given.Validate()
}

// Examine examines what is given. What the baseline accepts is not among the findings; notes
// say what else there is to say.
func (o *Options) Examine(ctx context.Context, r Readers, now time.Time, note func(format string, args ...any)) ([]doctor.Finding, *Input, error) {
	var baseline Baseline
	if o.Baseline != "" {
		b, err := ReadBaseline(o.Baseline)
		if err != nil {
			return nil, nil, err
		}
		baseline = *b
	}
	in, err := o.Take(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	all, err := in.Examine()
	if err != nil {
		return nil, nil, err
	}
	findings, accepted, remarks := baseline.Split(all, now)
	for _, remark := range remarks {
		r.Warn("%s", remark)
	}
	if n := len(accepted); n > 0 {
		note("left out, because the baseline accepts them: %d", n)
	}
	return findings, in, o.write(in, all, findings, now, note)
}

func (o *Options) write(in *Input, all, findings []doctor.Finding, now time.Time, note func(format string, args ...any)) error {
	if o.WriteBaseline != "" {
		if err := WriteBaseline(o.WriteBaseline, all, now); err != nil {
			return err
		}
		note("%s accepts what is found now until %s", o.WriteBaseline, now.UTC().Add(lease).Format(day))
	}
	if o.FixDir == "" {
		return nil
	}
	n, err := in.WriteFixes(o.FixDir, findings)
	if err == nil {
		note("fixes written to %s: %d; FIXES says what to do with each", o.FixDir, n)
	}
	return err
}

// Fails reports whether findings are to end with status 1.
func (o *Options) Fails(findings []doctor.Finding) bool {
	return slices.ContainsFunc(findings, func(f doctor.Finding) bool {
		return o.FailOn == anyKind || o.FailOn == string(doctor.Error) && f.Severity == doctor.Error
	})
}

// Complete refuses an examination that lacked rights, unless it may find anything.
func (o *Options) Complete(in *Input) error {
	if in.Denied && o.FailOn != never {
		return errors.New("not all of the cluster may be read: grant the rights that the warnings name, or accept it with --fail-on never")
	}
	return nil
}
