// Package ec2access says what IAM is asked before a call to EC2 is answered.
//
//	call + what there is (tags, launch templates) ──► Of ──► an action on each resource
package ec2access

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/iamtest/policy"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// World is what there is in EC2.
type World interface {
	// TagsOf are the tags of a resource, by its ID.
	TagsOf(id string) map[string]string
	// Template finds a launch template by its ID or name, and the data of a version; empty if
	// there is none.
	Template(idOrName, version string) (id string, data map[string]any)
}

// Config says whose calls they are.
type Config struct {
	World   World
	Account string
	// Role is the ARN of an instance profile's role.
	Role func(nameOrARN string) string
	// Group is the name of a placement group by its ID, empty if there is none.
	Group func(id string) string
}

// Of lists each action on each resource that a call reads, uses or makes, and ec2:CreateTags
// on what it makes with tags. A call that names what does not exist is only asked about as far
// as that.
func Of(c Config, r *wire.Request) []policy.Access {
	a := &asked{Config: c, region: r.Region, operation: r.Operation.Name}
	switch a.operation {
	case "CreateFleet":
		a.fleet(r.Input)
	case "RunInstances":
		a.run(r.Input)
	case "CreateLaunchTemplate":
		a.makes("launch-template", tagsFor(bound(r.Input, struct{ TagSpecifications []tagSpecification }{}).TagSpecifications, "launch-template"), nil, a.operation)
	case "DeleteLaunchTemplate":
		id, _ := bound(r.Input, template{}).in(c.World)
		a.uses("launch-template", id)
	case "TerminateInstances", "RebootInstances", "StopInstances", "StartInstances":
		for _, id := range bound(r.Input, struct{ InstanceIds []string }{}).InstanceIds {
			a.uses("instance", id)
		}
	case "ModifyInstanceAttribute":
		a.uses("instance", bound(r.Input, struct{ InstanceId string }{}).InstanceId)
	case "CreateTags", "DeleteTags":
		in := bound(r.Input, struct {
			Resources []string
			Tags      []tag
		}{})
		for _, id := range in.Resources {
			a.add(a.operation, kindOf(id), id, in.Tags, nil)
		}
	default:
		a.out = append(a.out, policy.Access{Action: "ec2:" + a.operation, Resource: "*", Keys: a.keys("", nil)})
	}
	return a.out
}

type tag struct{ Key, Value string }

type tagSpecification struct {
	ResourceType string
	Tags         []tag
}

func tagsFor(specs []tagSpecification, kind string) []tag {
	var out []tag
	for _, s := range specs {
		if s.ResourceType == kind {
			out = append(out, s.Tags...)
		}
	}
	return out
}

// template names a launch template.
type template struct{ LaunchTemplateId, LaunchTemplateName, Version string }

func (t template) in(w World) (id string, data map[string]any) {
	return w.Template(cmp.Or(t.LaunchTemplateId, t.LaunchTemplateName), t.Version)
}

// launch is what matters here of what an instance is made of.
type launch struct {
	ImageId, SubnetId  string
	SecurityGroupIds   []string
	IamInstanceProfile struct{ Arn, Name string }
	NetworkInterfaces  []struct {
		SubnetId string
		Groups   []string
	}
	InstanceMarketOptions            struct{ MarketType string }
	Placement                        struct{ GroupId, GroupName string }
	CapacityReservationSpecification struct {
		CapacityReservationTarget struct{ CapacityReservationId string }
	}
	MetadataOptions     struct{ HttpTokens string }
	BlockDeviceMappings []struct {
		Ebs struct {
			SnapshotId, VolumeType string
			Encrypted              bool
		}
	}
	TagSpecifications []tagSpecification
}

// keys are the condition keys of what a launch makes, by kind. A volume that only the image tells of
// is not encrypted, and its type is not known.
func (l *launch) keys() map[string]map[string][]string {
	volume := map[string][]string{}
	for _, d := range l.BlockDeviceMappings {
		volume["ec2:Encrypted"] = append(volume["ec2:Encrypted"], strconv.FormatBool(d.Ebs.Encrypted))
		volume["ec2:VolumeType"] = append(volume["ec2:VolumeType"], d.Ebs.VolumeType)
	}
	if len(volume) == 0 {
		volume["ec2:Encrypted"] = []string{"false"}
	}
	return map[string]map[string][]string{"instance": {"ec2:MetadataHttpTokens": {cmp.Or(l.MetadataOptions.HttpTokens, "optional")}}, "volume": volume}
}

// bound reads as much of an input as fits.
func bound[In any](tree map[string]any, in In) In {
	_ = wire.Bind(tree, &in) // the handler refuses what does not fit
	return in
}

// kinds are resource types by the beginning of their IDs.
var kinds = map[string]string{"i": "instance", "lt": "launch-template", "vol": "volume", "subnet": "subnet", "sg": "security-group", "eni": "network-interface", "ami": "image"}

func kindOf(id string) string {
	prefix, _, _ := strings.Cut(id, "-")
	return kinds[prefix]
}

// asked collects what one call needs.
type asked struct {
	Config
	region, operation string
	out               []policy.Access
}

// keys are the condition keys of a resource, and of the tags that it is to get.
func (a *asked) keys(id string, tags []tag) map[string][]string {
	out := map[string][]string{"aws:RequestedRegion": {a.region}}
	for _, t := range tags {
		out["aws:RequestTag/"+t.Key] = []string{t.Value}
		out["aws:TagKeys"] = append(out["aws:TagKeys"], t.Key)
	}
	for key, value := range a.World.TagsOf(id) {
		out["aws:ResourceTag/"+key], out["ec2:ResourceTag/"+key] = []string{value}, []string{value}
	}
	return out
}

func (a *asked) add(action, kind, id string, tags []tag, more map[string][]string) {
	account := a.Account
	if kind == "image" || kind == "snapshot" {
		account = ""
	}
	one := policy.Access{Action: "ec2:" + action, Resource: fmt.Sprintf("arn:aws:ec2:%s:%s:%s/%s", a.region, account, kind, id), Keys: a.keys(id, tags)}
	maps.Copy(one.Keys, more)
	if !slices.ContainsFunc(a.out, func(have policy.Access) bool { return have.Action == one.Action && have.Resource == one.Resource }) {
		a.out = append(a.out, one)
	}
}

// actions are what a call is asked for: a fleet starts its instances in the caller's name.
func (a *asked) actions() []string {
	if a.operation == "CreateFleet" {
		return []string{"CreateFleet", "RunInstances"}
	}
	return []string{a.operation}
}

func (a *asked) uses(kind, id string) {
	for _, action := range a.actions() {
		if id != "" {
			a.add(action, kind, id, nil, nil)
		}
	}
}

// makes asks for something new.
func (a *asked) makes(kind string, tags []tag, more map[string][]string, actions ...string) {
	for _, action := range actions {
		a.add(action, kind, "*", tags, more)
	}
	if len(tags) > 0 {
		a.add("CreateTags", kind, "*", tags, map[string][]string{"ec2:CreateAction": {a.operation}})
	}
}

func (a *asked) fleet(tree map[string]any) {
	in := bound(tree, struct {
		LaunchTemplateConfigs []struct {
			LaunchTemplateSpecification template
			Overrides                   []struct{ ImageId, SubnetId string }
		}
		TargetCapacitySpecification struct{ DefaultTargetCapacityType string }
		TagSpecifications           []tagSpecification
	}{})
	a.makes("fleet", tagsFor(in.TagSpecifications, "fleet"), nil, a.operation)
	for _, c := range in.LaunchTemplateConfigs {
		id, data := c.LaunchTemplateSpecification.in(a.World)
		if id == "" {
			return
		}
		a.uses("launch-template", id)
		l := bound(data, launch{})
		l.TagSpecifications = append(l.TagSpecifications, in.TagSpecifications...)
		a.launch(&l, in.TargetCapacitySpecification.DefaultTargetCapacityType == "spot")
		for _, o := range c.Overrides {
			a.uses("image", o.ImageId)
			a.uses("subnet", o.SubnetId)
		}
	}
}

func (a *asked) run(tree map[string]any) {
	l := launch{}
	if s := bound(tree, struct{ LaunchTemplate *template }{}).LaunchTemplate; s != nil {
		id, data := s.in(a.World)
		if id == "" {
			return
		}
		a.uses("launch-template", id)
		l = bound(data, l)
	}
	fromTemplate := l.TagSpecifications
	l.TagSpecifications = nil
	l = bound(tree, l)
	l.TagSpecifications = append(l.TagSpecifications, fromTemplate...)
	a.launch(&l, l.InstanceMarketOptions.MarketType == "spot")
}

// launch asks for an instance and what comes with it.
func (a *asked) launch(l *launch, spot bool) {
	made := []string{"instance", "volume", "network-interface"}
	if spot {
		made = append(made, "spot-instances-request")
	}
	keys := l.keys()
	for _, kind := range made {
		a.makes(kind, tagsFor(l.TagSpecifications, kind), keys[kind], a.actions()...)
	}
	a.uses("image", l.ImageId)
	a.uses("subnet", l.SubnetId)
	groups := slices.Clone(l.SecurityGroupIds)
	for _, i := range l.NetworkInterfaces {
		a.uses("subnet", i.SubnetId)
		groups = append(groups, i.Groups...)
	}
	for _, id := range groups {
		a.uses("security-group", id)
	}
	a.uses("capacity-reservation", l.CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId)
	a.uses("placement-group", cmp.Or(l.Placement.GroupName, a.Group(l.Placement.GroupId)))
	for _, d := range l.BlockDeviceMappings {
		a.uses("snapshot", d.Ebs.SnapshotId)
	}
	for _, profile := range []string{l.IamInstanceProfile.Name, l.IamInstanceProfile.Arn} {
		if role := a.Role(profile); profile != "" && role != "" {
			a.out = append(a.out, policy.Access{Action: "iam:PassRole", Resource: role, Keys: map[string][]string{"iam:PassedToService": {"ec2.amazonaws.com"}}})
		}
	}
}
