package ec2test

import (
	"cmp"
	"maps"
	"slices"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/describe"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/typeinfo"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

type describeInstanceTypesInput struct {
	describe.Query
	InstanceTypes []string
}

func describeInstanceTypes(e *EC2, in describeInstanceTypesInput) (any, error) {
	for _, name := range in.InstanceTypes {
		if e.types[name] == nil {
			return nil, wire.Errorf("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", name)
		}
	}
	if len(in.InstanceTypes) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter instanceTypes cannot be used with the parameter maxResults")
	}
	var out struct {
		InstanceTypes []typeinfo.Info
		NextToken     string
	}
	for _, name := range slices.Sorted(maps.Keys(e.types)) {
		t := typeinfo.Of(e.types[name])
		ok, err := describe.Pass(in.Filters, typeinfo.Fields, nil, t)
		if err != nil {
			return nil, err
		}
		if ok && (len(in.InstanceTypes) == 0 || slices.Contains(in.InstanceTypes, name)) {
			out.InstanceTypes = append(out.InstanceTypes, t)
		}
	}
	if len(in.InstanceTypes) == 0 && in.MaxResults == nil {
		most := 100
		in.MaxResults = &most
	}
	var err error
	out.InstanceTypes, out.NextToken, err = describe.Page(out.InstanceTypes, func(t typeinfo.Info) string { return t.InstanceType }, in.MaxResults, 5, 100, in.NextToken)
	return out, err
}

// offering is a type in a place.
type offering struct{ InstanceType, LocationType, Location string }

func (o offering) key() string { return o.InstanceType + "/" + o.Location }

var offeringFields = describe.Fields[offering]{
	"instance-type": describe.One(func(o offering) string { return o.InstanceType }),
	"location":      describe.One(func(o offering) string { return o.Location }),
}

type describeInstanceTypeOfferingsInput struct {
	describe.Query
	LocationType string
}

func describeInstanceTypeOfferings(e *EC2, in describeInstanceTypeOfferingsInput) (any, error) {
	var out struct {
		InstanceTypeOfferings []offering
		NextToken             string
	}
	kind := cmp.Or(in.LocationType, "region")
	var places []string
	switch kind {
	case "region":
		places = []string{e.config.Region}
	case "availability-zone":
		for _, z := range e.network.Zones {
			places = append(places, z.Name)
		}
	case "availability-zone-id":
		for _, z := range e.network.Zones {
			places = append(places, z.ID)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.types)) {
		for _, place := range places {
			o := offering{name, kind, place}
			ok, err := describe.Pass(in.Filters, offeringFields, nil, o)
			if err != nil {
				return nil, err
			}
			if ok {
				out.InstanceTypeOfferings = append(out.InstanceTypeOfferings, o)
			}
		}
	}
	// One of c5.large and c5a.large comes first as a key, the other one as a name.
	slices.SortFunc(out.InstanceTypeOfferings, func(a, b offering) int { return cmp.Compare(a.key(), b.key()) })
	var err error
	out.InstanceTypeOfferings, out.NextToken, err = describe.Page(out.InstanceTypeOfferings, offering.key, in.MaxResults, 5, 1000, in.NextToken)
	return out, err
}
