package wire

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed tables/*.json
var tables embed.FS

// Service is what a table says of one of AWS's services.
type Service struct {
	// Name is that of its table, such as ec2.
	Name       string
	Metadata   Metadata
	Operations map[string]*Operation
	Shapes     map[string]*Shape
}

// Metadata says which protocol the service speaks.
type Metadata struct {
	APIVersion   string `json:"apiVersion"`
	Protocol     string `json:"protocol"`
	JSONVersion  string `json:"jsonVersion"`
	TargetPrefix string `json:"targetPrefix"`
	XMLNamespace string `json:"xmlNamespace"`
	// QueryErrors is set for JSON services that name errors in the header
	// X-Amzn-Query-Error as well.
	QueryErrors *struct{} `json:"awsQueryCompatible"`
}

// Operation is an action.
type Operation struct {
	Name   string
	HTTP   HTTP   `json:"http"`
	Input  *Shape `json:"input"`
	Output *Shape `json:"output"`
}

// HTTP is where an operation of a REST service is found.
type HTTP struct {
	Method     string `json:"method"`
	RequestURI string `json:"requestUri"`
}

// Shape is a type and its place on the wire. Without a type it is a string.
type Shape struct {
	Ref          string            `json:"shape"`
	Type         string            `json:"type"`
	Members      map[string]*Shape `json:"members"`
	Required     []string          `json:"required"`
	Member       *Shape            `json:"member"`
	Key          *Shape            `json:"key"`
	Value        *Shape            `json:"value"`
	LocationName string            `json:"locationName"`
	Location     string            `json:"location"`
	QueryName    string            `json:"queryName"`
	Flattened    bool              `json:"flattened"`
	Wrapper      string            `json:"resultWrapper"`
	Enum         []string          `json:"enum"`
	// Token marks the member that makes a repeated call idempotent.
	Token bool `json:"idempotencyToken"`
}

// Services lists the tables. The result is shared and must not be modified.
func Services() (map[string]*Service, error) { return services() }

var services = sync.OnceValues(func() (map[string]*Service, error) {
	files, err := tables.ReadDir("tables")
	if err != nil {
		return nil, err
	}
	out := map[string]*Service{}
	for _, f := range files {
		text, err := tables.ReadFile("tables/" + f.Name())
		if err != nil {
			return nil, err
		}
		s := &Service{Name: strings.TrimSuffix(strings.TrimPrefix(f.Name(), "zz_generated."), ".json")}
		if err := json.Unmarshal(text, s); err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
		}
		s.resolve()
		out[s.Name] = s
	}
	return out, nil
})

// resolve puts what a reference means in its place.
func (s *Service) resolve() {
	for _, shape := range s.Shapes {
		s.fill(shape)
	}
	for name, op := range s.Operations {
		op.Name = name
		for _, side := range []**Shape{&op.Input, &op.Output} {
			if *side == nil {
				*side = &Shape{Type: "structure"}
			}
			s.fill(*side)
		}
	}
}

func (s *Service) fill(shape *Shape) {
	if target := s.Shapes[shape.Ref]; target != nil {
		shape.Type, shape.Members, shape.Required = target.Type, target.Members, target.Required
		shape.Member, shape.Key, shape.Value = target.Member, target.Key, target.Value
		shape.Flattened = shape.Flattened || target.Flattened
		return // the target's own are filled in by themselves
	}
	for _, next := range []*Shape{shape.Member, shape.Key, shape.Value} {
		if next != nil {
			s.fill(next)
		}
	}
	for _, m := range shape.Members {
		s.fill(m)
	}
}

// token is the name of the input's idempotency token, empty if it has none.
func (o *Operation) token() string {
	for _, name := range sorted(o.Input.Members) {
		if m := o.Input.Members[name]; m.Token || name == "ClientToken" {
			return name
		}
	}
	return ""
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// queryName is a member's name in a form.
func (s *Service) queryName(name string, member *Shape) string {
	if s.Metadata.Protocol != "ec2" {
		return or(member.LocationName, name)
	}
	if member.QueryName != "" {
		return member.QueryName
	}
	found := or(member.LocationName, name)
	return strings.ToUpper(found[:1]) + found[1:]
}

func or(name, otherwise string) string {
	if name != "" {
		return name
	}
	return otherwise
}
