// Package tagging has EC2's rules for tags.
package tagging

import (
	"maps"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// Tag is one of a resource.
type Tag struct{ Key, Value string }

// Of makes a list of a map, by key.
func Of(m map[string]string) []Tag {
	var out []Tag
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, Tag{key, m[key]})
	}
	return out
}

// Specification names the tags of new resources of a type.
type Specification struct {
	ResourceType string
	Tags         []Tag
}

// For are the tags of one resource type.
func For(specs []Specification, kind string) []Tag {
	var out []Tag
	for _, s := range specs {
		if s.ResourceType == kind {
			out = append(out, s.Tags...)
		}
	}
	return out
}

// Only refuses tags for resources that a call does not make.
func Only(specs []Specification, kinds ...string) error {
	for _, s := range specs {
		if !slices.Contains(kinds, s.ResourceType) {
			return wire.Errorf("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", s.ResourceType)
		}
		if err := Check(s.Tags); err != nil {
			return err
		}
	}
	return nil
}

// Most is how many tags a resource may have.
const Most = 50

// Check refuses keys and values that EC2 refuses, and too many of them.
func Check(tags []Tag) error {
	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case t.Key == "" || len(t.Key) > 127 || len(t.Value) > 255:
			return wire.Errorf("InvalidParameterValue", "Tag key %q or its value is empty or too long", t.Key)
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return wire.Errorf("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case seen[t.Key]:
			return wire.Errorf("InvalidParameterValue", "Duplicate tag key '%s' specified.", t.Key)
		}
		seen[t.Key] = true
	}
	if len(tags) > Most {
		return wire.Errorf("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
	}
	return nil
}
