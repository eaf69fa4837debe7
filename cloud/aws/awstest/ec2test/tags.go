package ec2test

import (
	"maps"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// Tag is one of a resource.
type Tag struct{ Key, Value string }

// Tags makes a list of a map, by key.
func Tags(m map[string]string) []Tag {
	var out []Tag
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, Tag{key, m[key]})
	}
	return out
}

// tagSpecification names the tags of new resources of a type.
type tagSpecification struct {
	ResourceType string
	Tags         []Tag
}

// tagsFor are the tags of one resource type.
func tagsFor(specs []tagSpecification, kind string) []Tag {
	var out []Tag
	for _, s := range specs {
		if s.ResourceType == kind {
			out = append(out, s.Tags...)
		}
	}
	return out
}

// onlyTags refuses tags for resources that a call does not make.
func onlyTags(specs []tagSpecification, kinds ...string) error {
	for _, s := range specs {
		if !slices.Contains(kinds, s.ResourceType) {
			return wire.Errorf("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", s.ResourceType)
		}
		if err := checkTags(s.Tags); err != nil {
			return err
		}
	}
	return nil
}

// maxTags is how many tags a resource may have.
const maxTags = 50

func checkTags(tags []Tag) error {
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
	if len(tags) > maxTags {
		return wire.Errorf("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
	}
	return nil
}

// tag adds tags to a resource.
func (e *EC2) tag(id string, tags []Tag) {
	if e.tags[id] == nil {
		e.tags[id] = map[string]string{}
	}
	for _, t := range tags {
		e.tags[id][t.Key] = t.Value
	}
}

// Untag takes tags off a resource, as others than the cluster's controllers may.
func (e *EC2) Untag(id string, keys ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, key := range keys {
		delete(e.tags[id], key)
	}
}

func (e *EC2) tagsOf(id string) []Tag { return Tags(e.tags[id]) }

type tagsInput struct {
	Resources []string
	Tags      []struct {
		Key   string
		Value *string
	}
	DryRun bool
}

// created refuses what does not exist.
func (e *EC2) created(ids []string) error {
	for _, id := range ids {
		if e.tags[id] != nil && (e.instances[id] == nil || e.visible(e.instances[id])) {
			continue
		}
		code := "InvalidID"
		if strings.HasPrefix(id, "i-") {
			code = "InvalidInstanceID.NotFound"
		}
		return wire.Errorf(code, "The ID '%s' is not valid", id)
	}
	return nil
}

func createTags(e *EC2, in tagsInput) (any, error) {
	if err := e.created(in.Resources); err != nil {
		return nil, err
	}
	var tags []Tag
	for _, t := range in.Tags {
		tag := Tag{Key: t.Key}
		if t.Value != nil {
			tag.Value = *t.Value
		}
		tags = append(tags, tag)
	}
	if err := checkTags(tags); err != nil {
		return nil, err
	}
	for _, id := range in.Resources {
		all := maps.Clone(e.tags[id])
		for _, t := range tags {
			all[t.Key] = t.Value
		}
		if len(all) > maxTags {
			return nil, wire.Errorf("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
		}
		if !in.DryRun {
			e.tags[id] = all
		}
	}
	return nil, nil
}

func deleteTags(e *EC2, in tagsInput) (any, error) {
	if err := e.created(in.Resources); err != nil || in.DryRun {
		return nil, err
	}
	for _, id := range in.Resources {
		for _, t := range in.Tags {
			if t.Value == nil || e.tags[id][t.Key] == *t.Value {
				delete(e.tags[id], t.Key)
			}
		}
	}
	return nil, nil
}

// TagsOf are the tags of a resource.
func (e *EC2) TagsOf(id string) map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.tags[id])
}
