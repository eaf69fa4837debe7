package ec2test

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/tagging"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/vpc"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

type createFleetInput struct {
	ClientToken           string
	Type                  string
	DryRun                bool
	LaunchTemplateConfigs []struct {
		LaunchTemplateSpecification templateSpecification
		Overrides                   []map[string]any
	}
	TargetCapacitySpecification struct {
		TotalTargetCapacity, OnDemandTargetCapacity, SpotTargetCapacity int
		DefaultTargetCapacityType                                       string
	}
	SpotOptions, OnDemandOptions fleetOptions
	TagSpecifications            []tagging.Specification
}

type fleetOptions struct {
	AllocationStrategy string
	MinTargetCapacity  int
}

// candidate is one override of a fleet: a launch that may be made.
type candidate struct {
	launch   launch
	offering Offering
	subnet   *vpc.Subnet
	priority float64
	echo     map[string]any
	// broken is why it cannot be launched at all.
	broken error
}

type fleetInstance struct {
	LaunchTemplateAndOverrides        map[string]any
	Lifecycle, InstanceType, Platform string
	InstanceIds                       []string
}

type fleetError struct {
	LaunchTemplateAndOverrides         map[string]any
	Lifecycle, ErrorCode, ErrorMessage string
}

type fleet struct {
	FleetId   string
	Instances []fleetInstance
	Errors    []fleetError
}

// Failures are the codes of its errors.
func (f *fleet) Failures() []string {
	var out []string
	for _, e := range f.Errors {
		out = append(out, e.ErrorCode)
	}
	return out
}

// createFleet plays a fleet of type instant: on demand, spot, in capacity blocks and reservations.
func createFleet(e *EC2, in createFleetInput) (any, error) {
	if in.Type != "instant" {
		return nil, wire.Errorf("UnsupportedOperation", "Fleets of type %q are not played here", in.Type)
	}
	if err := tagging.Only(in.TagSpecifications, "fleet", "instance", "volume", "network-interface", "spot-instances-request"); err != nil {
		return nil, err
	}
	onDemand, spot, err := in.targets()
	if err != nil {
		return nil, err
	}
	odCandidates, err := e.candidates(in, false)
	if err != nil || in.DryRun {
		return nil, err
	}
	spotCandidates, err := e.candidates(in, true)
	if err != nil {
		return nil, err
	}
	out := &fleet{FleetId: e.id("fleet")}
	e.tag(out.FleetId, tagging.For(in.TagSpecifications, "fleet"))
	e.fill(out, e.ordered(odCandidates, in.OnDemandOptions.AllocationStrategy), onDemand, in.OnDemandOptions.MinTargetCapacity, in)
	e.fill(out, e.ordered(spotCandidates, in.SpotOptions.AllocationStrategy), spot, in.SpotOptions.MinTargetCapacity, in)
	return out, nil
}

// targets is how many instances are wanted of each kind.
func (in *createFleetInput) targets() (onDemand, spot int, err error) {
	t := in.TargetCapacitySpecification
	rest := t.TotalTargetCapacity - t.OnDemandTargetCapacity - t.SpotTargetCapacity
	if t.TotalTargetCapacity < 1 || rest < 0 {
		return 0, 0, wire.Errorf("InvalidTargetCapacitySpecification", "TotalTargetCapacity %d is less than 1 or than its parts", t.TotalTargetCapacity)
	}
	switch t.DefaultTargetCapacityType {
	case "spot":
		return t.OnDemandTargetCapacity, t.SpotTargetCapacity + rest, nil
	case "on-demand", "capacity-block", "reserved-capacity", "":
		return t.OnDemandTargetCapacity + rest, t.SpotTargetCapacity, nil
	}
	return 0, 0, wire.Errorf("UnsupportedOperation", "The capacity type %q is not played here", t.DefaultTargetCapacityType)
}

// override is what a fleet says differently from the template.
type override struct {
	InstanceType, SubnetId, ImageId      string
	AvailabilityZone, AvailabilityZoneId string
	Priority                             float64
	WeightedCapacity                     *float64
	InstanceRequirements                 map[string]any
	Placement                            *placement
}

// candidates lays the overrides over the templates, in the order of the request.
func (e *EC2) candidates(in createFleetInput, spot bool) ([]candidate, error) {
	var out []candidate
	for _, c := range in.LaunchTemplateConfigs {
		base, _, err := e.from(c.LaunchTemplateSpecification)
		if err != nil {
			return nil, err
		}
		overrides := c.Overrides
		if len(overrides) == 0 {
			overrides = []map[string]any{{}}
		}
		for _, tree := range overrides {
			candidate, err := e.candidate(base, c.LaunchTemplateSpecification, tree, spot)
			if err != nil {
				return nil, err
			}
			out = append(out, candidate)
		}
	}
	return out, nil
}

func (e *EC2) candidate(base launch, spec templateSpecification, tree map[string]any, spot bool) (candidate, error) {
	var o override
	if err := wire.Bind(tree, &o); err != nil {
		return candidate{}, err
	}
	if o.WeightedCapacity != nil || o.InstanceRequirements != nil {
		return candidate{}, wire.Errorf("UnsupportedOperation", "WeightedCapacity and InstanceRequirements are not played here")
	}
	c := candidate{launch: base, priority: o.Priority}
	l := &c.launch
	l.InstanceType, l.ImageId = cmp.Or(o.InstanceType, l.InstanceType), cmp.Or(o.ImageId, l.ImageId)
	if o.Placement != nil {
		l.Placement = *o.Placement
	}
	l.Placement.AvailabilityZone = cmp.Or(o.AvailabilityZone, l.Placement.AvailabilityZone)
	l.Placement.AvailabilityZoneId = cmp.Or(o.AvailabilityZoneId, l.Placement.AvailabilityZoneId)
	if o.SubnetId != "" {
		l.SubnetId = o.SubnetId
		l.NetworkInterfaces = slices.Clone(l.NetworkInterfaces)
		for i := range l.NetworkInterfaces {
			l.NetworkInterfaces[i].SubnetId = o.SubnetId
		}
	}
	echo := maps.Clone(tree)
	c.subnet, c.broken = e.settle(l)
	c.offering = Offering{Type: l.InstanceType, Spot: spot}
	if c.subnet != nil {
		c.offering.Zone = c.subnet.AvailabilityZone
		echo["AvailabilityZone"] = c.subnet.AvailabilityZone
	}
	c.echo = map[string]any{"LaunchTemplateSpecification": map[string]any{
		"LaunchTemplateId": spec.LaunchTemplateId, "LaunchTemplateName": spec.LaunchTemplateName, "Version": spec.Version,
	}, "Overrides": echo}
	return c, nil
}

// ordered is the order in which an allocation strategy tries candidates; equals stay in
// the order of the request.
func (e *EC2) ordered(list []candidate, strategy string) []candidate {
	price := func(c candidate) float64 {
		if e.types[c.offering.Type] == nil {
			return 0
		}
		return e.price(c.offering)
	}
	byPrice := func(a, b candidate) int { return cmp.Compare(price(a), price(b)) }
	byPriority := func(a, b candidate) int { return cmp.Compare(a.priority, b.priority) }
	byDepth := func(a, b candidate) int { return cmp.Compare(e.depth(b.offering), e.depth(a.offering)) }
	var order []func(a, b candidate) int
	switch strategy {
	case "prioritized", "capacity-optimized-prioritized", "capacityOptimizedPrioritized":
		order = append(order, byPriority)
	case "capacity-optimized":
		order = append(order, byDepth)
	case "price-capacity-optimized":
		// The deeper half of the pools, the cheapest of them first.
		deepest := 0.0
		for _, c := range list {
			deepest = max(deepest, e.depth(c.offering))
		}
		order = append(order, func(a, b candidate) int {
			return cmp.Compare(shallow(e.depth(a.offering), deepest), shallow(e.depth(b.offering), deepest))
		}, byPrice)
	default: // lowest-price
		order = append(order, byPrice)
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		for _, by := range order {
			if n := by(a, b); n != 0 {
				return n
			}
		}
		return 0
	})
	return list
}

func shallow(depth, deepest float64) int {
	if depth < deepest/2 {
		return 1
	}
	return 0
}

// fill launches up to the target, and nothing at all if it is less than the minimum.
func (e *EC2) fill(out *fleet, list []candidate, target, least int, in createFleetInput) {
	var made []fleetInstance
	var all []*instance
	for _, c := range list {
		if len(all) == target {
			break
		}
		lifecycle := "on-demand"
		if c.offering.Spot {
			lifecycle = "spot"
		}
		var ids []string
		err := c.broken
		for err == nil && len(all) < target {
			if err = e.refuse(&c.launch, c.offering, c.subnet); err == nil {
				i := e.start(&c.launch, c.offering, c.subnet, given{tagging.For(in.TagSpecifications, "instance"), tagging.For(in.TagSpecifications, "volume")}, in.ClientToken)
				ids, all = append(ids, i.id), append(all, i)
			}
		}
		if len(ids) > 0 {
			made = append(made, fleetInstance{c.echo, lifecycle, c.offering.Type, "", ids})
		}
		var api *wire.Error
		if errors.As(err, &api) {
			out.Errors = append(out.Errors, fleetError{c.echo, lifecycle, api.Code, api.Message})
		}
	}
	if len(all) < least {
		for _, i := range all {
			e.unmake(i)
		}
		made = nil
	}
	out.Instances = append(out.Instances, made...)
}

// unmake takes back an instance of a fleet that did not come about.
func (e *EC2) unmake(i *instance) {
	for _, v := range e.at(i) {
		delete(e.volumes, v.id)
		delete(e.tags, v.id)
	}
	delete(e.instances, i.id)
	delete(e.tags, i.id)
}
