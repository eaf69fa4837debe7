package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"

	kjson "sigs.k8s.io/json"
)

// JSON reads a document that people wrote or saved. The error names the field, what is wanted there
// and what there is.
func JSON(raw []byte, into any) error {
	_, err := read(raw, into)
	return err
}

// Strict is JSON that takes no field that the type does not have, and none twice.
func Strict(raw []byte, into any) error {
	unknown, err := read(raw, into)
	for _, u := range unknown {
		path, message := Unknown(u)
		err = errors.Join(err, fmt.Errorf("%s: %s", path, message))
	}
	return err
}

func read(raw []byte, into any) (unknown []error, err error) {
	unknown, err = kjson.UnmarshalStrict(raw, into)
	switch {
	case err == nil:
		return unknown, nil
	case !json.Valid(raw):
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	path, why := Locate(raw, reflect.TypeOf(into).Elem(), "")
	if path == "" {
		return nil, why
	}
	return nil, fmt.Errorf("%s: %w", path, why)
}

var quoted = regexp.MustCompile(`^(unknown|duplicate) field "(.*)"$`)

// Unknown takes the complaint of a strict decoder about a field apart.
func Unknown(err error) (path, message string) {
	m := quoted.FindStringSubmatch(err.Error())
	if m == nil {
		return "", err.Error()
	}
	return m[2], m[1] + " field"
}
