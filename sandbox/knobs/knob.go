package knobs

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of value a knob takes.
type Kind string

// A Switch is "true" or "false", a Duration is in Go's notation ("20s"), a
// Count is a whole number from zero up, a Taint is key:effect, a Condition is
// type=status, an Address is an IP address.
const (
	Switch    Kind = "switch"
	Duration  Kind = "duration"
	Count     Kind = "count"
	Taint     Kind = "taint"
	Condition Kind = "condition"
	Address   Kind = "address"
)

// Scope is a kind of object a knob can be turned for.
type Scope string

// The scopes, as they are written in keys and flags.
const (
	ScopeNode   Scope = "node"
	ScopeVolume Scope = "pv"
	ScopePod    Scope = "pod"
	// ScopeZone is for the nodes of a zone: it goes with ScopeNode.
	ScopeZone Scope = "zone"
)

// Knob is one thing that can be scripted. Knobs are constants in spirit: they
// are defined in registry.go and never changed.
type Knob struct {
	// Name is the key in the ConfigMap and the word after "sandbox inject".
	Name string
	// Kind is the kind of value.
	Kind Kind
	// Default applies where nothing is said. Empty means off, zero or, for
	// knobs read with a Lookup, not set.
	Default string
	// Scopes lists the objects the knob can be turned for.
	Scopes []Scope
	// Annotation is its name on those objects, without the prefix. Empty: Name.
	Annotation string
	// AnnotationOn is the annotation's value that turns a Switch on, if that is
	// not "true".
	AnnotationOn string
	// ObjectOnly means that a value for everything makes no sense.
	ObjectOnly bool
	// Help is one sentence for the user.
	Help string
}

// goesFor reports whether the knob can be set for an object of that kind.
func (k Knob) goesFor(s Scope) bool {
	return slices.Contains(k.Scopes, s) || s == ScopeZone && slices.Contains(k.Scopes, ScopeNode)
}

// Find returns the knob of that name.
func Find(name string) (Knob, bool) {
	all := All()
	i := slices.IndexFunc(all, func(k Knob) bool { return k.Name == name })
	if i < 0 {
		return Knob{}, false
	}
	return all[i], true
}

// Validate says whether value is one that the knob takes.
func (k Knob) Validate(value string) error {
	var err error
	switch k.Kind {
	case Switch:
		_, err = strconv.ParseBool(value)
	case Duration:
		var d time.Duration
		if d, err = time.ParseDuration(value); err == nil && d < 0 {
			err = fmt.Errorf("is negative")
		}
	case Count:
		_, err = strconv.ParseUint(value, 10, 31)
	case Taint:
		err = words(value, ":", "NoSchedule", "NoExecute", "PreferNoSchedule")
	case Condition:
		err = words(value, "=", "True", "False", "Unknown")
	case Address:
		_, err = netip.ParseAddr(value)
	}
	if err != nil {
		return fmt.Errorf("%s: %q is no %s: %w", k.Name, value, k.Kind, err)
	}
	return nil
}

// words checks that a value is a name, a separator and one of some words.
func words(value, separator string, last ...string) error {
	name, word, _ := strings.Cut(value, separator)
	if name == "" || !slices.Contains(last, word) {
		return fmt.Errorf("want a name, %q and one of %s", separator, strings.Join(last, ", "))
	}
	return nil
}

// AnnotationsChanged says whether two states of an object differ in an
// annotation of the sandbox.
func AnnotationsChanged(before, after map[string]string) bool {
	return !maps.Equal(ours(before), ours(after))
}

func ours(annotations map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range annotations {
		if strings.HasPrefix(key, Prefix) {
			out[key] = value
		}
	}
	return out
}

// annotation is the full annotation key of the knob.
func (k Knob) annotation() string {
	if k.Annotation != "" {
		return Prefix + k.Annotation
	}
	return Prefix + k.Name
}

// fromAnnotation translates an annotation's value to the knob's own notation.
func (k Knob) fromAnnotation(value string) string {
	if k.AnnotationOn != "" && value == k.AnnotationOn {
		return "true"
	}
	return value
}
