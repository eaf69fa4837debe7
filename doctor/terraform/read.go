package terraform

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Resource is one that is there, or will be when the plan is applied.
type Resource struct {
	// Address is such as module.eks.aws_eks_addon.this["coredns"].
	Address string `json:"address"`
	Mode    string `json:"mode"`
	Type    string `json:"type"`
	// Values are its arguments and attributes; those that are not known before an apply are
	// missing.
	Values json.RawMessage `json:"values"`
}

var errPartial = errors.New("the plan failed, and lacks what comes after the failure: make it again without errors")

var errForm = errors.New("neither a plan nor a state; want what terraform show -json prints")

// walk calls visit for each resource of a plan or a state, in the document's order. Data
// sources are left out.
func walk(r io.Reader, visit func(Resource) error) error {
	dec := json.NewDecoder(r)
	found := false
	err := members(dec, func(key string) error {
		switch key {
		case "planned_values", "values":
			found = true
			return members(dec, func(key string) error {
				if key == "root_module" {
					return module(dec, visit)
				}
				return skip(dec)
			})
		case "errored":
			var errored bool
			if err := dec.Decode(&errored); err != nil || !errored {
				return syntax(err)
			}
			return errPartial
		case "format_version":
			found = true
			return version(dec)
		}
		return skip(dec)
	})
	if err == nil && !found {
		err = errForm
	}
	return err
}

// version reads a format_version, whose major number counts what is incompatible.
func version(dec *json.Decoder) error {
	var v any
	if err := dec.Decode(&v); err != nil {
		return syntax(err)
	}
	text, _ := v.(string)
	if major, _, _ := strings.Cut(text, "."); major != "0" && major != "1" {
		text, _ := json.Marshal(v)
		return fmt.Errorf("format_version is %s: known are 0.x and 1.x", text)
	}
	return nil
}

// module visits the resources of a module and of those below it.
func module(dec *json.Decoder, visit func(Resource) error) error {
	return members(dec, func(key string) error {
		switch key {
		case "resources":
			return elements(dec, func() error {
				var r Resource
				if err := dec.Decode(&r); err != nil {
					return syntax(err)
				}
				if r.Mode == "data" {
					return nil
				}
				if err := visit(r); err != nil {
					return fmt.Errorf("%s: %w", r.Address, err)
				}
				return nil
			})
		case "child_modules":
			return elements(dec, func() error { return module(dec, visit) })
		}
		return skip(dec)
	})
}

// members calls each for the members of the object that comes next, or of nothing if it is
// null. each reads the member's value.
func members(dec *json.Decoder, each func(key string) error) error {
	return inside(dec, '{', func() error {
		key, err := dec.Token()
		if err != nil {
			return syntax(err)
		}
		name, _ := key.(string)
		return each(name)
	})
}

func elements(dec *json.Decoder, each func() error) error { return inside(dec, '[', each) }

func inside(dec *json.Decoder, open json.Delim, each func() error) error {
	token, err := dec.Token()
	switch {
	case err != nil:
		return syntax(err)
	case token == nil:
		return nil
	case token != open:
		return errForm
	}
	for dec.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return syntax(err)
}

func skip(dec *json.Decoder) error {
	var rest ignored
	return syntax(dec.Decode(&rest))
}

// ignored is any value, of which nothing is kept.
type ignored struct{}

// UnmarshalJSON takes everything.
func (*ignored) UnmarshalJSON([]byte) error { return nil }

func syntax(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the document ends too early: %w", errForm)
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("not what terraform show -json prints: %s is of type %s", wrong.Field, wrong.Value)
	}
	return fmt.Errorf("not what terraform show -json prints: %w", err)
}
