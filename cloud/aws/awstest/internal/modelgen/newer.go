package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go/middleware"
)

// walker goes through an input type of the Go SDK and its shape side by side.
type walker struct {
	table *table
	// found is called for a field that the shape has no member for; it may add one.
	found func(path []int, s shape, field reflect.StructField) error
	// enumerated is called for a member whose type in the SDK lists its values.
	enumerated func(member shape, values []string)
}

// walk visits what is below a structure once for each type on the way to it.
func (w walker) walk(t reflect.Type, s shape, path []int, above []reflect.Type) error {
	s = w.table.follow(s)
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() || field.Name == "ResultMetadata" {
			continue
		}
		below := append(slices.Clone(path), i)
		member := memberOf(s, field.Name)
		if member == nil {
			if err := w.found(below, s, field); err != nil {
				return err
			}
			continue
		}
		inner := bare(field.Type)
		if values := valuesOf(inner); values != nil {
			holder := member
			if field.Type.Kind() == reflect.Slice {
				holder = w.table.follow(member)["member"].(shape)
			}
			w.enumerated(holder, values)
		}
		if inner.Kind() != reflect.Struct || inner == timeType || slices.Contains(above, inner) {
			continue
		}
		next := w.table.follow(member)
		if field.Type.Kind() == reflect.Slice {
			next = w.table.follow(next["member"].(shape))
		}
		if err := w.walk(inner, next, below, append(above, inner)); err != nil {
			return err
		}
	}
	return nil
}

var timeType = reflect.TypeFor[time.Time]()

// bare is a type without pointers and lists.
func bare(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		t = t.Elem()
	}
	return t
}

// memberOf is the member of a field's name: the Go SDK capitalizes it.
func memberOf(s shape, field string) shape {
	members, _ := s["members"].(shape)
	for name, m := range members {
		if strings.EqualFold(name, field) {
			return m.(shape)
		}
	}
	return nil
}

// valuesOf lists an enumeration's values, nil if it is none or one of too many.
func valuesOf(t reflect.Type) []string {
	method, ok := t.MethodByName("Values")
	if t.Kind() != reflect.String || !ok || t.Name() == "InstanceType" {
		return nil
	}
	list := method.Func.Call([]reflect.Value{reflect.Zero(t)})[0]
	out := make([]string, list.Len())
	for i := range out {
		out[i] = list.Index(i).String()
	}
	slices.Sort(out)
	return out
}

// addNewer adds what only the Go SDK knows.
func (t *table) addNewer(s service) error {
	for _, input := range s.inputs {
		root := reflect.TypeOf(input)
		op := t.Operations[operationOf(input)]
		if op["input"] == nil {
			op["input"] = shape{"type": "structure", "members": shape{}}
		}
		w := walker{table: t,
			enumerated: func(member shape, values []string) { member["enum"] = values },
			found: func(path []int, in shape, field reflect.StructField) error {
				if s.name != "ec2" {
					return fmt.Errorf("%s has %s, which the model lacks", root.Name(), field.Name)
				}
				member, err := newer(root, path)
				if err != nil {
					return err
				}
				member["source"] = s.sdk()
				fmt.Printf("%s: %s added, as %s\n", root.Name(), field.Name, member["locationName"])
				in["members"].(shape)[field.Name] = member
				return nil
			}}
		if err := w.walk(root, op["input"].(shape), nil, nil); err != nil {
			return fmt.Errorf("%s: %w", root.Name(), err)
		}
	}
	return nil
}

// newer describes a member, and all below it, by what the SDK writes for it.
func newer(root reflect.Type, path []int) (shape, error) {
	field := fieldAt(root, path)
	name, err := wireName(root, path)
	if err != nil {
		return nil, err
	}
	// Requests capitalize a location name, answers take it as it is.
	out := shape{"locationName": strings.ToLower(name[:1]) + name[1:]}
	leaf := out
	if field.Type.Kind() == reflect.Slice && field.Type.Elem().Kind() != reflect.Uint8 {
		out["type"], leaf = "list", shape{"locationName": "item"}
		out["member"] = leaf
	}
	inner := bare(field.Type)
	if values := valuesOf(inner); values != nil {
		leaf["enum"] = values
	}
	switch {
	case inner == timeType:
		leaf["type"] = "timestamp"
	case inner.Kind() == reflect.Struct:
		members := shape{}
		for i := range inner.NumField() {
			if !inner.Field(i).IsExported() {
				continue
			}
			m, err := newer(root, append(slices.Clone(path), i))
			if err != nil {
				return nil, err
			}
			members[inner.Field(i).Name] = m
		}
		leaf["type"], leaf["members"] = "structure", members
	case inner.Kind() == reflect.Bool:
		leaf["type"] = "boolean"
	case inner.Kind() == reflect.Int32:
		leaf["type"] = "integer"
	case inner.Kind() == reflect.Int64:
		leaf["type"] = "long"
	case inner.Kind() == reflect.Float64:
		leaf["type"] = "double"
	case inner.Kind() == reflect.String:
		// A string has no type in these models.
	default:
		return nil, fmt.Errorf("%s: a %s is not provided for", field.Name, inner)
	}
	return out, nil
}

func fieldAt(t reflect.Type, path []int) reflect.StructField {
	f := t.Field(path[0])
	if len(path) == 1 {
		return f
	}
	return fieldAt(bare(f.Type), path[1:])
}

// wireName lets the SDK write an input in which this field alone is set, and reads off
// the field's name.
func wireName(root reflect.Type, path []int) (string, error) {
	with, err := written(root, path)
	if err != nil {
		return "", err
	}
	for key := range with {
		if key == "Action" || key == "Version" || key == "ClientToken" && root.Field(path[0]).Name != "ClientToken" {
			continue
		}
		parts := slices.DeleteFunc(strings.Split(key, "."), func(p string) bool { return strings.IndexFunc(p, unicode.IsLetter) < 0 })
		if len(parts) >= len(path) {
			return parts[len(path)-1], nil
		}
	}
	return "", fmt.Errorf("the SDK writes nothing for field %v of %s: %v", path, root.Name(), with)
}

func written(root reflect.Type, path []int) (url.Values, error) {
	input := reflect.New(root)
	place := input.Elem()
	for _, i := range path {
		place = grow(place).Field(i)
	}
	fill(place, 0)
	var body []byte
	client := ec2.New(ec2.Options{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}, Retryer: aws.NopRetryer{}, HTTPClient: recorder{&body},
		APIOptions: []func(*middleware.Stack) error{func(s *middleware.Stack) error {
			if _, validates := s.Initialize.Get("OperationInputValidation"); validates {
				_, err := s.Initialize.Remove("OperationInputValidation")
				return err
			}
			return nil
		}}})
	reflect.ValueOf(client).MethodByName(operationOf(reflect.Zero(root).Interface())).Call([]reflect.Value{reflect.ValueOf(context.Background()), input})
	return url.ParseQuery(string(body))
}

// grow makes what pointers and lists lack, and returns the structure behind them.
func grow(v reflect.Value) reflect.Value {
	for {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		case reflect.Slice:
			if v.Len() == 0 {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			}
			v = v.Index(0)
		default:
			return v
		}
	}
}

// fill gives a value that the SDK writes down.
func fill(v reflect.Value, depth int) {
	v = grow(v)
	switch {
	case v.Type() == timeType:
		v.Set(reflect.ValueOf(time.Unix(1, 0)))
	case v.Kind() == reflect.Struct && depth < 4:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	case v.CanFloat():
		v.SetFloat(1)
	}
}

// recorder is an HTTP client that keeps the body of the request.
type recorder struct{ body *[]byte }

func (r recorder) Do(q *http.Request) (*http.Response, error) {
	var err error
	if q.Body != nil {
		*r.body, err = io.ReadAll(q.Body)
	}
	return nil, errors.Join(errors.New("not sent"), err)
}
