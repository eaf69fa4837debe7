package ec2test

import (
	"maps"
	"strings"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/tagging"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// Tag is one of a resource.
type Tag = tagging.Tag

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

func (e *EC2) tagsOf(id string) []Tag { return tagging.Of(e.tags[id]) }

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
	if err := tagging.Check(tags); err != nil {
		return nil, err
	}
	for _, id := range in.Resources {
		all := maps.Clone(e.tags[id])
		for _, t := range tags {
			all[t.Key] = t.Value
		}
		if len(all) > tagging.Most {
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
