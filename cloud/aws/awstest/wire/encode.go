package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Write answers a request with an output or, if err is not nil, with the error.
func Write(w http.ResponseWriter, r *Request, output any, err error) {
	var body []byte
	if err == nil {
		body, err = r.encode(output)
	}
	status := http.StatusOK
	if err != nil {
		var api *Error
		if !errors.As(err, &api) {
			api = &Error{Code: "InternalError", Message: err.Error(), Status: http.StatusInternalServerError}
		}
		status = api.Status
		if status == 0 {
			status = http.StatusBadRequest
		}
		body = r.encodeError(w.Header(), api)
	}
	h := w.Header()
	switch r.protocol() {
	case "ec2", "query":
		h.Set("Content-Type", "text/xml;charset=UTF-8")
	case "rest-json":
		h.Set("Content-Type", "application/json")
	default:
		h.Set("Content-Type", "application/x-amz-json-"+r.Service.Metadata.JSONVersion)
		h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	}
	h.Set("X-Amzn-Requestid", r.ID)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone
}

// protocol is the service's; a request of no known service is answered in EC2's.
func (r *Request) protocol() string {
	if r.Service == nil {
		return "ec2"
	}
	return r.Service.Metadata.Protocol
}

func (r *Request) encodeError(h http.Header, e *Error) []byte {
	var out bytes.Buffer
	code, message := escape(e.Code), escape(e.Message)
	switch r.protocol() {
	case "ec2":
		fmt.Fprintf(&out, "<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>%s</RequestID></Response>", code, message, escape(r.ID))
	case "query":
		kind := "Sender"
		if e.Status >= http.StatusInternalServerError {
			kind = "Receiver"
		}
		fmt.Fprintf(&out, "<ErrorResponse xmlns=%q><Error><Type>%s</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>%s</RequestId></ErrorResponse>",
			r.Service.Metadata.XMLNamespace, kind, code, message, escape(r.ID))
	default:
		h.Set("X-Amzn-Errortype", e.Code)
		if r.Service.Metadata.QueryErrors != nil {
			h.Set("X-Amzn-Query-Error", or(e.Query, e.Code)+";Sender")
		}
		text, _ := json.Marshal(map[string]string{"__type": e.Code, "message": e.Message}) // plain strings
		out.Write(text)
	}
	return out.Bytes()
}

func escape(text string) string {
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(text)) // a buffer takes everything
	return out.String()
}

func (r *Request) encode(output any) ([]byte, error) {
	v := reflect.ValueOf(output)
	e := encoder{path: r.Operation.Name}
	switch r.protocol() {
	case "ec2":
		fmt.Fprintf(&e.out, "<%[1]sResponse xmlns=%[2]q><requestId>%[3]s</requestId>", r.Operation.Name, r.Service.Metadata.XMLNamespace+"/", escape(r.ID))
		err := e.members(v, r.Operation.Output)
		fmt.Fprintf(&e.out, "</%sResponse>", r.Operation.Name)
		return e.out.Bytes(), err
	case "query":
		fmt.Fprintf(&e.out, "<%sResponse xmlns=%q>", r.Operation.Name, r.Service.Metadata.XMLNamespace)
		wrapper := r.Operation.Output.Wrapper
		if wrapper != "" {
			fmt.Fprintf(&e.out, "<%s>", wrapper)
		}
		err := e.members(v, r.Operation.Output)
		if wrapper != "" {
			fmt.Fprintf(&e.out, "</%s>", wrapper)
		}
		fmt.Fprintf(&e.out, "<ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></%sResponse>", escape(r.ID), r.Operation.Name)
		return e.out.Bytes(), err
	}
	e.json = true
	tree, err := e.tree(v, r.Operation.Output)
	if err != nil {
		return nil, err
	}
	if tree == nil {
		tree = map[string]any{}
	}
	return json.Marshal(tree)
}

// encoder writes a Go value as its shape says. A field that has no place in the shape is a fault
// of the emulator, not of the caller.
type encoder struct {
	out  bytes.Buffer
	path string
	json bool
}

var timeType = reflect.TypeFor[time.Time]()

// fields lists a structure's members that are set, by the model's names.
func fields(v reflect.Value) (map[string]reflect.Value, bool) {
	out := map[string]reflect.Value{}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous {
				inner, _ := fields(v.Field(i))
				for name, value := range inner {
					out[name] = value
				}
				continue
			}
			if f.IsExported() && !absent(v.Field(i)) {
				out[f.Name] = v.Field(i)
			}
		}
		return out, true
	case reflect.Map:
		for key, value := range v.Seq2() {
			out[key.String()] = value
		}
		return out, true
	}
	return nil, false
}

// absent says that a field's value means that there is none: numbers and booleans always
// mean something.
func absent(v reflect.Value) bool {
	return v.IsZero() && !v.CanInt() && !v.CanFloat() && v.Kind() != reflect.Bool
}

// settled is the value behind pointers and interfaces; invalid if there is none.
func settled(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

func (e *encoder) misfit(v reflect.Value, shape *Shape) error {
	return fmt.Errorf("%s: a %s is no %s", e.path, v.Type(), or(shape.Type, "string"))
}

// members writes the elements of a structure.
func (e *encoder) members(v reflect.Value, shape *Shape) error {
	v = settled(v)
	if !v.IsValid() {
		return nil
	}
	set, ok := fields(v)
	if !ok {
		return e.misfit(v, shape)
	}
	for _, name := range sorted(set) {
		member := shape.Members[name]
		if member == nil && v.Kind() == reflect.Map {
			continue // an echo of an input, whose shape has more than the answer's
		}
		if member == nil {
			return fmt.Errorf("%s: no member %s", e.path, name)
		}
		if err := e.element(or(member.LocationName, name), set[name], member); err != nil {
			return err
		}
	}
	return nil
}

// element writes one element with what is in it.
func (e *encoder) element(tag string, v reflect.Value, shape *Shape) error {
	v = settled(v)
	if !v.IsValid() {
		return nil
	}
	outer := e.path
	defer func() { e.path = outer }()
	e.path += "." + tag
	e.out.WriteString("<" + tag + ">")
	switch shape.Type {
	case "structure":
		if err := e.members(v, shape); err != nil {
			return err
		}
	case "list":
		if v.Kind() != reflect.Slice {
			return e.misfit(v, shape)
		}
		for i := range v.Len() {
			if err := e.element(or(shape.Member.LocationName, "member"), v.Index(i), shape.Member); err != nil {
				return err
			}
		}
	default:
		plain, err := e.plain(v, shape)
		if err != nil {
			return err
		}
		e.out.WriteString(escape(fmt.Sprint(plain)))
	}
	e.out.WriteString("</" + tag + ">")
	return nil
}

// plain is a scalar: a string, bool, integer or float.
func (e *encoder) plain(v reflect.Value, shape *Shape) (any, error) {
	if shape.Type == "timestamp" && v.Type() == timeType {
		t := v.Interface().(time.Time)
		if e.json {
			return float64(t.UnixMilli()) / 1000, nil
		}
		return t.UTC().Format("2006-01-02T15:04:05.000Z"), nil
	}
	whole, real := shape.Type == "integer" || shape.Type == "long", shape.Type == "float" || shape.Type == "double"
	switch {
	case shape.Type == "boolean" && v.Kind() == reflect.Bool:
		return v.Bool(), nil
	case whole && v.CanInt():
		return v.Int(), nil
	case whole && v.CanFloat() && v.Float() == math.Trunc(v.Float()): // as Bind leaves them in maps
		return int64(v.Float()), nil
	case real && v.CanFloat():
		return v.Float(), nil
	case real && v.CanInt():
		return float64(v.Int()), nil
	case shape.Type == "timestamp" && v.Kind() == reflect.String && !e.json: // of an input that is echoed
		return v.String(), nil
	case (shape.Type == "" || shape.Type == "blob" || shape.Type == "string") && v.Kind() == reflect.String:
		return v.String(), nil
	}
	return nil, e.misfit(v, shape)
}

// tree makes what encoding/json writes as the shape says.
func (e *encoder) tree(v reflect.Value, shape *Shape) (any, error) {
	v = settled(v)
	if !v.IsValid() {
		return nil, nil
	}
	switch shape.Type {
	case "structure":
		return e.treeStructure(v, shape)
	case "list":
		if v.Kind() != reflect.Slice {
			return nil, e.misfit(v, shape)
		}
		out := []any{}
		for i := range v.Len() {
			item, err := e.tree(v.Index(i), shape.Member)
			if err != nil {
				return nil, err
			}
			out = append(out, item)
		}
		return out, nil
	case "map":
		if v.Kind() != reflect.Map {
			return nil, e.misfit(v, shape)
		}
		out := map[string]any{}
		for key, value := range v.Seq2() {
			item, err := e.tree(value, shape.Value)
			if err != nil {
				return nil, err
			}
			out[key.String()] = item
		}
		return out, nil
	}
	return e.plain(v, shape)
}

func (e *encoder) treeStructure(v reflect.Value, shape *Shape) (any, error) {
	set, ok := fields(v)
	if !ok {
		return nil, e.misfit(v, shape)
	}
	outer := e.path
	defer func() { e.path = outer }()
	out := map[string]any{}
	for _, field := range sorted(set) {
		// A Go field capitalizes what the model may not.
		name, member := field, shape.Members[field]
		if member == nil {
			name = strings.ToLower(field[:1]) + field[1:]
			member = shape.Members[name]
		}
		if member == nil {
			return nil, fmt.Errorf("%s: no member %s", e.path, field)
		}
		e.path = outer + "." + name
		item, err := e.tree(set[field], member)
		if err != nil {
			return nil, err
		}
		out[or(member.LocationName, name)] = item
	}
	return out, nil
}
