// Package policy evaluates IAM's policy documents, as far as policies for a controller use the
// language: Effect, Action and Resource with wildcards, and the conditions of [operators].
//
//	documents ──► Parse ──► Policies.Decide(Access) ──► allowed by which statement, or not
//
// An explicit Deny wins over any Allow, and what no statement allows is denied. All conditions
// of a statement must hold. A condition whose key the request does not have does not hold,
// unless its operator says IfExists, ForAllValues or Null.
package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// list is a JSON text, or an array of such.
type list []string

// UnmarshalJSON is json.Unmarshaler's.
func (l *list) UnmarshalJSON(data []byte) error {
	var one string
	if err := json.Unmarshal(data, &one); err == nil {
		*l = list{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// Statement is one of a document.
type Statement struct {
	Sid, Effect string
	Action      list
	Resource    list
	// Condition is by operator and key.
	Condition map[string]map[string]list
}

// Policies are the statements of some documents.
type Policies []Statement

// Parse reads documents. Errors name the statement, and what of it is not known here.
func Parse(documents ...string) (Policies, error) {
	var out Policies
	for n, text := range documents {
		var d struct {
			Version   string
			Statement []Statement
		}
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&d); err != nil {
			return nil, fmt.Errorf("policy document %d: %w", n+1, err)
		}
		if d.Version != "2012-10-17" {
			return nil, fmt.Errorf("policy document %d: Version is %q, not 2012-10-17", n+1, d.Version)
		}
		for i := range d.Statement {
			if err := d.Statement[i].check(); err != nil {
				return nil, fmt.Errorf("policy document %d: statement %q: %w", n+1, d.Statement[i].Sid, err)
			}
		}
		out = append(out, d.Statement...)
	}
	return out, nil
}

func (s *Statement) check() error {
	switch {
	case s.Effect != "Allow" && s.Effect != "Deny":
		return fmt.Errorf("the effect is %q, neither Allow nor Deny", s.Effect)
	case len(s.Action) == 0 || len(s.Resource) == 0:
		return fmt.Errorf("it needs an Action and a Resource")
	}
	for name := range s.Condition {
		if _, ok := operatorOf(name); !ok {
			return fmt.Errorf("the condition operator %s is not known here", name)
		}
	}
	return nil
}

// Access is a call and the resource that it is about.
type Access struct {
	// Action is as IAM writes it, such as ec2:CreateFleet; Resource an ARN, or * for actions
	// that have none.
	Action, Resource string
	// Keys are what conditions ask for, such as aws:RequestedRegion and
	// aws:RequestTag/team.
	Keys map[string][]string
}

// Decide is the statement that decides, and whether it allows; nil if none is about it.
func (p Policies) Decide(a Access) (by *Statement, allowed bool) {
	for i := range p {
		s := &p[i]
		if !s.covers(a) {
			continue
		}
		if s.Effect == "Deny" {
			return s, false
		}
		if by == nil {
			by = s
		}
	}
	return by, by != nil
}

func (s *Statement) covers(a Access) bool {
	action := func(pattern string) bool { return Like(strings.ToLower(pattern), strings.ToLower(a.Action)) }
	resource := func(pattern string) bool { return Like(pattern, a.Resource) }
	if !slices.ContainsFunc(s.Action, action) || !slices.ContainsFunc(s.Resource, resource) {
		return false
	}
	for name, wanted := range s.Condition {
		o, _ := operatorOf(name)
		for key, values := range wanted {
			if !o.holds(values, a.key(key)) {
				return false
			}
		}
	}
	return true
}

// key finds the values of a condition key, whose case does not count; nil if there are none.
func (a *Access) key(name string) []string {
	for key, values := range a.Keys {
		if strings.EqualFold(key, name) {
			return values
		}
	}
	return nil
}

// Like reports whether a text fits a pattern, in which * is any text and ? any one character.
func Like(pattern, text string) bool {
	for pattern != "" {
		switch {
		case pattern[0] == '*':
			for i := range len(text) + 1 {
				if Like(pattern[1:], text[i:]) {
					return true
				}
			}
			return false
		case text == "" || pattern[0] != '?' && pattern[0] != text[0]:
			return false
		}
		pattern, text = pattern[1:], text[1:]
	}
	return text == ""
}
