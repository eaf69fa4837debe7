package provider

import (
	"context"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Sold asks AWS what it sells in the region, and lists it by name: every type in every zone
// that has it, at AWS's prices, with the Nodes of a class that says nothing of them. Unlike
// Refresh it fails if prices cannot be had; an isolated provider has those that are built in.
func (p *Provider) Sold(ctx context.Context) ([]*catalog.Type, error) {
	if err := p.refreshTypes(ctx); err != nil {
		return nil, err
	}
	if err := p.refreshPrices(ctx); err != nil {
		return nil, err
	}
	family := ec2class.AMIFamilyAL2023
	settings := p.settings(&awsv1.EC2NodeClass{EC2NodeClass: ec2class.EC2NodeClass{Spec: ec2class.EC2NodeClassSpec{AMIFamily: &family}}})
	infos, zones, _ := p.market.read()
	var out []*catalog.Type
	for i := range infos {
		supply := instancetype.Supply{Price: p.Prices.Of}
		for _, zone := range zones[infos[i].Name] {
			supply.Zones = append(supply.Zones, instancetype.Zone{Name: zone})
		}
		if t := instancetype.Resolve(&infos[i], settings, &supply); t != nil {
			out = append(out, t)
		}
	}
	return out, nil
}
