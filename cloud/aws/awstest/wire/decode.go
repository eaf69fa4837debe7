package wire

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// node is a form's keys as a tree: Filter.1.Value.2=x is Filter → 1 → Value → 2 → x.
type node struct {
	value    string
	children map[string]*node
}

func (n *node) at(key string) *node {
	if n.children == nil {
		n.children = map[string]*node{}
	}
	if n.children[key] == nil {
		n.children[key] = &node{}
	}
	return n.children[key]
}

// reader checks an input against its shape while it reads it.
type reader struct {
	service *Service
	codes   codes
}

// readQuery reads a form.
func (s *Service) readQuery(form url.Values, op *Operation) (map[string]any, error) {
	root := &node{}
	for key, values := range form {
		if key == "Action" || key == "Version" {
			continue
		}
		n := root
		for part := range strings.SplitSeq(key, ".") {
			n = n.at(part)
		}
		n.value = values[0]
	}
	r := reader{s, codesOf[s.Metadata.Protocol]}
	v, err := r.form(root, op.Input, "")
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

func (r reader) form(n *node, shape *Shape, path string) (any, error) {
	switch shape.Type {
	case "structure":
		return r.formStructure(n, shape, path)
	case "list":
		return r.formList(n, shape, path)
	}
	if len(n.children) > 0 {
		return nil, Errorf(r.codes.unknown, "The parameter %s is not recognized", path+"."+sorted(n.children)[0])
	}
	return r.scalar(n.value, shape, path)
}

func (r reader) formStructure(n *node, shape *Shape, path string) (any, error) {
	out := map[string]any{}
	names := map[string]string{}
	for name, m := range shape.Members {
		names[r.service.queryName(name, m)] = name
	}
	for _, key := range sorted(n.children) {
		name, ok := names[key]
		if !ok {
			return nil, Errorf(r.codes.unknown, "The parameter %s is not recognized", join(path, key))
		}
		v, err := r.form(n.children[key], shape.Members[name], join(path, key))
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, r.required(out, shape, path)
}

// required reports the first member that must be there and is not.
func (r reader) required(in map[string]any, shape *Shape, path string) error {
	for _, name := range shape.Required {
		if _, ok := in[name]; !ok {
			var key string
			if strings.HasSuffix(r.service.Metadata.Protocol, "json") {
				key = or(shape.Members[name].LocationName, name)
			} else {
				key = r.service.queryName(name, shape.Members[name])
			}
			return Errorf(r.codes.missing, "The request must contain the parameter %s", join(path, key))
		}
	}
	return nil
}

func (r reader) formList(n *node, shape *Shape, path string) (any, error) {
	if r.service.Metadata.Protocol == "query" && !shape.Flattened {
		n = n.at(or(shape.Member.LocationName, "member"))
	}
	type numbered struct {
		number int
		node   *node
	}
	var items []numbered
	for _, key := range sorted(n.children) {
		number, err := strconv.Atoi(key)
		if err != nil || number < 1 {
			return nil, Errorf(r.codes.unknown, "The parameter %s is not recognized", join(path, key))
		}
		items = append(items, numbered{number, n.children[key]})
	}
	slices.SortFunc(items, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	out := []any{}
	for _, item := range items {
		v, err := r.form(item.node, shape.Member, join(path, strconv.Itoa(item.number)))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// scalar reads a text as the shape's type.
func (r reader) scalar(text string, shape *Shape, path string) (any, error) {
	var v any
	var err error
	switch shape.Type {
	case "boolean":
		v, err = strconv.ParseBool(text)
	case "integer":
		v, err = strconv.ParseInt(text, 10, 32)
	case "long":
		v, err = strconv.ParseInt(text, 10, 64)
	case "float", "double":
		v, err = strconv.ParseFloat(text, 64)
	case "timestamp":
		v, err = time.Parse(time.RFC3339, text)
	default:
		if len(shape.Enum) > 0 && !slices.Contains(shape.Enum, text) {
			return nil, Errorf(r.codes.value, "Value (%s) for parameter %s is invalid. Valid values: %s", text, path, strings.Join(shape.Enum, ", "))
		}
		return text, nil
	}
	if err != nil {
		return nil, Errorf(r.codes.value, "Value (%s) for parameter %s is invalid. Expected a %s", text, path, shape.Type)
	}
	return v, nil
}

// readTree reads an object of JSON.
func (s *Service) readTree(tree map[string]any, op *Operation) (map[string]any, error) {
	r := reader{s, codesOf[s.Metadata.Protocol]}
	body := *op.Input
	body.Members = map[string]*Shape{}
	body.Required = nil
	for name, m := range op.Input.Members {
		if m.Location == "" {
			body.Members[name] = m
			if slices.Contains(op.Input.Required, name) {
				body.Required = append(body.Required, name)
			}
		}
	}
	slices.Sort(body.Required)
	v, err := r.object(tree, &body, "")
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (r reader) object(tree map[string]any, shape *Shape, path string) (map[string]any, error) {
	out := map[string]any{}
	names := map[string]string{}
	for name, m := range shape.Members {
		names[or(m.LocationName, name)] = name
	}
	for _, key := range sorted(tree) {
		name, ok := names[key]
		if !ok {
			return nil, Errorf(r.codes.unknown, "The parameter %s is not recognized", join(path, key))
		}
		v, err := r.value(tree[key], shape.Members[name], join(path, key))
		if err != nil {
			return nil, err
		}
		if v != nil {
			out[name] = v
		}
	}
	return out, r.required(out, shape, path)
}

func (r reader) value(v any, shape *Shape, path string) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		if shape.Type == "structure" {
			return r.object(v, shape, path)
		}
		if shape.Type == "map" {
			out := map[string]any{}
			for _, key := range sorted(v) {
				item, err := r.value(v[key], shape.Value, join(path, key))
				if err != nil {
					return nil, err
				}
				out[key] = item
			}
			return out, nil
		}
	case []any:
		if shape.Type == "list" {
			out := []any{}
			for i, item := range v {
				read, err := r.value(item, shape.Member, join(path, strconv.Itoa(i+1)))
				if err != nil {
					return nil, err
				}
				out = append(out, read)
			}
			return out, nil
		}
	case bool:
		if shape.Type == "boolean" {
			return v, nil
		}
	case json.Number:
		if shape.Type != "" && shape.Type != "boolean" {
			return r.scalar(v.String(), shape, path)
		}
	case string:
		if shape.Type == "" || shape.Type == "string" || shape.Type == "blob" || shape.Type == "timestamp" {
			return r.scalar(v, shape, path)
		}
	}
	return nil, Errorf(r.codes.malformed, "%s is not a %s", path, or(shape.Type, "string"))
}
