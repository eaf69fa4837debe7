package ec2test

import (
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/tagging"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// runInstances lays the request over its launch template: their members have the same
// names.
func runInstances(e *EC2, tree map[string]any) (any, error) {
	var in struct {
		ClientToken        string
		MinCount, MaxCount int
		DryRun             bool
		LaunchTemplate     *templateSpecification
	}
	if err := wire.Bind(tree, &in); err != nil {
		return nil, err
	}
	var l launch
	if in.LaunchTemplate != nil {
		var err error
		if l, _, err = e.from(*in.LaunchTemplate); err != nil {
			return nil, err
		}
	}
	fromTemplate := l.TagSpecifications
	l.TagSpecifications = nil
	if err := wire.Bind(tree, &l); err != nil {
		return nil, err
	}
	if err := tagging.Only(l.TagSpecifications, "instance", "volume", "network-interface", "spot-instances-request"); err != nil {
		return nil, err
	}
	l.TagSpecifications = append(fromTemplate, l.TagSpecifications...)
	subnet, err := e.settle(&l)
	if err != nil || in.DryRun { // a dry run does not look for capacity
		return nil, err
	}
	offering := Offering{l.InstanceType, subnet.AvailabilityZone, l.InstanceMarketOptions.MarketType == "spot"}
	if err := e.refuse(&l, offering, subnet); err != nil {
		return nil, err
	}
	if left, lack := e.left(offering); min(left, e.free(subnet)/l.addresses()) < in.MinCount {
		return nil, lack
	}
	out := describedReservation{OwnerId: e.config.Account}
	for range in.MaxCount {
		if e.refuse(&l, offering, subnet) != nil {
			break
		}
		i := e.start(&l, offering, subnet, given{}, in.ClientToken)
		if out.ReservationId == "" {
			out.ReservationId = i.reservation
		}
		i.reservation = out.ReservationId
		out.Instances = append(out.Instances, e.describedInstance(i))
	}
	return out, nil
}
