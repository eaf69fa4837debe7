package main

import (
	"fmt"
	"reflect"
	"strings"
)

// addAnswered adds the members of answers that only the Go SDK knows. It reads a member by its
// name with a small first letter.
func (t *table) addAnswered(s service) error {
	for _, a := range s.answered {
		at := reflect.TypeOf(a.output)
		in, _ := t.Operations[strings.TrimSuffix(at.Name(), "Output")]["output"].(shape)
		for _, name := range a.path[:len(a.path)-1] {
			field, ok := at.FieldByName(name)
			member := memberOf(t.follow(in), name)
			if !ok || member == nil {
				return fmt.Errorf("%v: neither has %s", a.path, name)
			}
			at, in = bare(field.Type), t.follow(member)
			if list, ok := in["member"].(shape); ok {
				in = t.follow(list)
			}
		}
		last := a.path[len(a.path)-1]
		field, ok := at.FieldByName(last)
		switch {
		case memberOf(in, last) != nil:
			return fmt.Errorf("%v: the model has it", a.path)
		case !ok || bare(field.Type).Kind() != reflect.Bool:
			return fmt.Errorf("%v: only a boolean of the SDK is provided for", a.path)
		}
		in["members"].(shape)[last] = shape{"locationName": strings.ToLower(last[:1]) + last[1:], "type": "boolean", "source": s.sdk()}
	}
	return nil
}
