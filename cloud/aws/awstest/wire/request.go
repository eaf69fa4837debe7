package wire

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// longest is how large a request may be, in bytes.
const longest = 4 << 20

// Request is a call that has been read and fits its table.
type Request struct {
	Service   *Service
	Operation *Operation
	// Input is the tree of the parameters by the model's names: maps, lists ([]any),
	// string, bool, int64, float64 and time.Time.
	Input map[string]any
	// AccessKey, Region and ID are the caller's key, the region that it signed for and
	// the answer's request ID. The signature itself is not checked.
	AccessKey, Region, ID string
	// Host is the one that the client spoke to.
	Host string
	// Gone is closed when the client waits no longer.
	Gone <-chan struct{}
}

// Read finds out which call an HTTP request is. With an error it still returns what
// Write needs, as far as it is known.
func Read(r *http.Request) (*Request, error) {
	all, err := Services()
	if err != nil {
		return nil, err
	}
	out := &Request{Host: r.Host, Gone: r.Context().Done(), ID: r.Header.Get("Amz-Sdk-Invocation-Id")}
	signedFor := out.credential(r.Header.Get("Authorization"))
	body, err := io.ReadAll(io.LimitReader(r.Body, longest))
	if err != nil {
		return out, Errorf("RequestExpired", "the request broke off")
	}
	target := r.Header.Get("X-Amz-Target")
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case target != "":
		return out, out.readJSON(all, target, body)
	case media == "application/x-www-form-urlencoded":
		return out, out.readForm(all, signedFor, body)
	}
	return out, out.readREST(all, r, body)
}

// credential takes key, region and service from a signature of version 4.
func (r *Request) credential(header string) (service string) {
	_, rest, _ := strings.Cut(header, "Credential=")
	parts := strings.Split(strings.TrimRight(strings.Split(rest, " ")[0], ","), "/")
	if len(parts) != 5 {
		return ""
	}
	r.AccessKey, r.Region = parts[0], parts[2]
	return parts[3]
}

func (r *Request) readForm(all map[string]*Service, signedFor string, body []byte) error {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return Errorf("MalformedQueryString", "%v", err)
	}
	action, version := form.Get("Action"), form.Get("Version")
	for _, name := range sorted(all) {
		s := all[name]
		if s.Metadata.APIVersion != version || s.Metadata.Protocol != "ec2" && s.Metadata.Protocol != "query" {
			continue
		}
		r.Service = s
		if op := s.Operations[action]; op != nil {
			r.Operation = op
			r.Input, err = s.readQuery(form, op)
			return err
		}
	}
	return Errorf("InvalidAction", "the action %s of %s %s is not played here", action, signedFor, version)
}

func (r *Request) readJSON(all map[string]*Service, target string, body []byte) error {
	prefix, action, _ := strings.Cut(target, ".")
	for _, name := range sorted(all) {
		s := all[name]
		if s.Metadata.TargetPrefix != prefix {
			continue
		}
		r.Service = s
		if op := s.Operations[action]; op != nil {
			r.Operation = op
			return r.unmarshal(body)
		}
	}
	return Errorf("UnknownOperationException", "%s is not played here", target)
}

func (r *Request) unmarshal(body []byte) error {
	var tree map[string]any
	if len(body) > 0 {
		d := json.NewDecoder(strings.NewReader(string(body)))
		d.UseNumber()
		if err := d.Decode(&tree); err != nil {
			return Errorf("SerializationException", "%v", err)
		}
	}
	in, err := r.Service.readTree(tree, r.Operation)
	r.Input = in
	return err
}

func (r *Request) readREST(all map[string]*Service, q *http.Request, body []byte) error {
	for _, name := range sorted(all) {
		s := all[name]
		if s.Metadata.Protocol != "rest-json" {
			continue
		}
		for _, action := range sorted(s.Operations) {
			op := s.Operations[action]
			labels, ok := match(op.HTTP.RequestURI, q.URL.EscapedPath())
			if !ok || op.HTTP.Method != q.Method {
				continue
			}
			r.Service, r.Operation = s, op
			if err := r.unmarshal(body); err != nil {
				return err
			}
			for name, member := range op.Input.Members {
				key := or(member.LocationName, name)
				if member.Location == "uri" {
					r.Input[name] = labels[key]
				}
				if member.Location == "querystring" && q.URL.Query().Has(key) {
					r.Input[name] = q.URL.Query().Get(key)
				}
			}
			return nil
		}
	}
	return Errorf("UnknownOperationException", "%s %s is not played here", q.Method, q.URL.Path)
}

// match compares a path with a pattern such as /clusters/{name}.
func match(pattern, path string) (map[string]string, bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	labels := map[string]string{}
	for i, w := range want {
		if !strings.HasPrefix(w, "{") {
			if w != got[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(got[i])
		if err != nil {
			return nil, false
		}
		labels[strings.Trim(w, "{}")] = value
	}
	return labels, true
}

// Token takes the caller's idempotency token; empty if there is none.
func (r *Request) Token() string {
	text, _ := r.Input[r.Operation.token()].(string)
	return text
}

// Parameters is a canonical text of the input without the idempotency token: what two
// calls must share to be the same one.
func (r *Request) Parameters() string {
	rest := map[string]any{}
	for name, v := range r.Input {
		if name != r.Operation.token() {
			rest[name] = v
		}
	}
	text, _ := json.Marshal(rest) // a tree of plain values
	return r.Operation.Name + string(text)
}

// Bind makes a Go value of an input, or of a part of one: fields have the model's names.
func Bind(tree any, into any) error {
	text, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
