package ec2test

import (
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// Remove deletes a subnet, a security group, a placement group or a capacity reservation, or
// deregisters an image, by its ID. As EC2 it refuses to delete what instances are in; those of
// an image or a capacity reservation run on without it.
func (e *EC2) Remove(id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	used := func(by func(*instance) bool) bool {
		for _, i := range e.instances {
			if e.state(i) != terminated && by(i) {
				return true
			}
		}
		return false
	}
	switch kind, _, _ := strings.Cut(id, "-"); {
	case kind == "ami" && e.images[id] != nil:
		delete(e.images, id)
	case kind == "subnet" && e.network.Subnet(id) != nil:
		if used(func(i *instance) bool { return i.subnet == id }) {
			return wire.Errorf("DependencyViolation", "The subnet '%s' has dependencies and cannot be deleted.", id)
		}
		e.network.Remove(id)
	case kind == "sg" && e.network.Group(id) != nil:
		if used(func(i *instance) bool {
			return slices.ContainsFunc(i.interfaces, func(n networkInterface) bool {
				return slices.ContainsFunc(n.Groups, func(g groupName) bool { return g.GroupId == id })
			})
		}) {
			return wire.Errorf("DependencyViolation", "resource %s has a dependent object", id)
		}
		e.network.Remove(id)
	case kind == "pg" || kind == "cr":
		return e.Reserved.Remove(id)
	default:
		return wire.Errorf("InvalidParameterValue", "There is no subnet, security group, placement group, capacity reservation or image %s", id)
	}
	delete(e.tags, id)
	return nil
}
