// Package offline says what machines an EC2NodeClass means by its text alone: as it was written,
// or as kubectl printed it, without AWS and without a cluster.
//
//	[]*catalog.Type of a region ──► New ──► Catalogue.Types(EC2NodeClass) ──► types of the class
//
// Kubelet, block devices, interfaces and images are taken at their word: a class with maxPods: 20
// has Nodes of twenty pods. What the status says counts: zones are those of its subnets, images
// those that it lists, with what they are for. What neither says is assumed, and named as a
// Gap. Prices are those of the types that are given.
package offline

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/expression"
	"github.com/millwright-dev/millwright/cloud/aws/image"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/network"
	"github.com/millwright-dev/millwright/cloud/aws/observed"
	"github.com/millwright-dev/millwright/cloud/aws/price"
	"github.com/millwright-dev/millwright/cloud/ec2"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// Gap is something that a class does not say, and what stands in for it.
type Gap string

// Gaps.
const (
	NoSubnets     Gap = "no subnets in the status, so zones are those of the prices"
	NoImages      Gap = "no images in the status, so every architecture counts as having one"
	OtherRegion   Gap = "its subnets are in another region than the prices"
	OwnPrices     Gap = "its on-demand prices are those that are built in for the region of its subnets; spot is the same share of them as elsewhere"
	NoGroup       Gap = "the strategy of its placement group is not known, so every type counts as fit for it"
	NoFeatures    Gap = "which types have nested virtualization, or support Nitro Enclaves, is not known, so every type counts as fit for it"
	Gated         Gap = "expressions in its spec.kubelet count as with the feature gate NodeClassCEL; a controller without it refuses the class"
	NoReservation Gap = "what its capacity reservations have left is not known, so they count as full"
)

// Catalogue is what EC2 sells, at the prices of a region. It is safe for concurrent use.
type Catalogue struct {
	infos       []instancetype.Info
	expressions *expression.Evaluator
	priced      map[string]*catalog.Type
	region      string
}

// New makes a Catalogue of types with offerings, whose names are EC2's.
func New(priced []*catalog.Type) (*Catalogue, error) {
	table, err := ec2.Types()
	if err != nil {
		return nil, err
	}
	c := &Catalogue{expressions: expression.New(), priced: make(map[string]*catalog.Type, len(priced))}
	for _, t := range priced {
		c.priced[t.Name] = t
	}
	for i := range table {
		t, ok := c.priced[table[i].Name]
		if !ok || len(t.Offerings) == 0 {
			continue
		}
		c.infos = append(c.infos, instancetype.FromTable(&table[i]))
		c.region = cmp.Or(c.region, region(t.Offerings[0].Zone))
	}
	if len(c.infos) == 0 {
		return nil, errors.New("none of the instance types is one of EC2's")
	}
	return c, nil
}

// Region is that of the prices, such as us-east-1.
func (c *Catalogue) Region() string { return c.region }

// region is that of a zone such as eu-west-1a.
func region(zone string) string { return strings.TrimRight(zone, "abcdefghijklmnopqrstuvwxyz") }

// Types are the machines of a class, by name, for a controller of these settings, and what the class
// leaves open. Errors: cloud.ClassNotReadyError.
func (c *Catalogue) Types(class *awsv1.EC2NodeClass, process instancetype.Settings) ([]*catalog.Type, []Gap, error) {
	settings := instancetype.ClassOf(class, process)
	settings.Memory, settings.Allocatable = observed.Of(class.Annotations)
	settings.Expressions = c.expressions
	features := settings.NestedVirtualization || settings.Enclaves
	settings.NestedVirtualization, settings.Enclaves = false, false
	reason := unready(class)
	if err := settings.Check(c.infos); err != nil {
		reason = err.Error()
	}
	if reason != "" {
		return nil, nil, &cloud.ClassNotReadyError{Class: "EC2NodeClass/" + class.Name, Reason: reason}
	}
	zones := zonesOf(class)
	settings.Region = c.region
	if len(zones) > 0 {
		settings.Region = region(zones[0].Name)
	}
	price, own, err := c.priceIn(settings.Region)
	if err != nil {
		return nil, nil, err
	}
	supply := &instancetype.Supply{Price: price, Reservations: instancetype.Reservations(class.Status.CapacityReservations, func(string) int { return 0 })}
	if full := network.Marked(class.Annotations); len(full) > 0 {
		supply.SoldOut = func(_ string, o *catalog.Offering) (string, bool) {
			if slices.Contains(full, o.Zone) {
				return network.Lacks(o.Zone), true
			}
			return "", false
		}
	}
	if len(class.Status.AMIs) > 0 {
		supply.Image = func(labels requirement.Set) string { return image.For(class.Status.AMIs, labels) }
	}
	var out []*catalog.Type
	for i := range c.infos {
		supply.Zones = zones
		if len(zones) == 0 {
			supply.Zones = soldIn(c.priced[c.infos[i].Name])
		}
		if t := instancetype.Resolve(&c.infos[i], &settings, supply); t != nil {
			out = append(out, t)
		}
	}
	return out, c.gaps(class, settings.Region, own, features, settings.HasExpressions()), nil
}

// gaps are what a class leaves open, which asks for features of types or not, and has expressions
// or not.
func (c *Catalogue) gaps(class *awsv1.EC2NodeClass, region string, own, features, expressions bool) []Gap {
	gated := expressions && cloud.Ready(class.Status.Conditions).Status != metav1.ConditionTrue
	var out []Gap
	for _, g := range []struct {
		open bool
		gap  Gap
	}{
		{len(class.Status.Subnets) == 0, NoSubnets},
		{len(class.Status.AMIs) == 0, NoImages},
		{region != c.region && !own, OtherRegion},
		{own, OwnPrices},
		{class.Spec.PlacementGroupSelector != nil, NoGroup},
		{features, NoFeatures},
		{gated, Gated},
		{len(class.Spec.CapacityReservationSelectorTerms) > 0, NoReservation},
	} {
		if g.open {
			out = append(out, g.gap)
		}
	}
	for _, c := range class.Status.Conditions {
		if c.Type == price.Condition && c.Status == "False" {
			out = append(out, Gap("of the controller's prices: "+c.Message))
		}
	}
	return out
}

// unready says why a class that has been looked at cannot launch; empty if it can, or if no
// controller has looked yet.
func unready(class *awsv1.EC2NodeClass) string {
	ready := cloud.Ready(class.Status.Conditions)
	if ready.Status != metav1.ConditionFalse {
		return ""
	}
	return cmp.Or(ready.Message, ready.Reason, "its condition Ready is False")
}

// zonesOf are those of a class's subnets.
func zonesOf(class *awsv1.EC2NodeClass) []instancetype.Zone {
	var out []instancetype.Zone
	for _, s := range class.Status.Subnets {
		if zone := (instancetype.Zone{Name: s.Zone, ID: s.ZoneID}); !slices.Contains(out, zone) {
			out = append(out, zone)
		}
	}
	return out
}

// soldIn are the zones of a type's offerings.
func soldIn(t *catalog.Type) []instancetype.Zone {
	var out []instancetype.Zone
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if zone := (instancetype.Zone{Name: o.Zone, ID: o.Labels[ec2class.LabelTopologyZoneID]}); !slices.Contains(out, zone) {
			out = append(out, zone)
		}
	}
	return out
}

// priceIn is what offerings cost in a region: as they do in the prices' own, unless the region has
// built-in prices in US dollars.
func (c *Catalogue) priceIn(region string) (price func(typeName, zone, capacityType string) (float64, bool), own bool, err error) {
	if region == c.region || strings.HasPrefix(region, "cn-") {
		return c.price, false, nil
	}
	list, err := ec2.OnDemand(region)
	if list == nil {
		return c.price, false, err
	}
	return func(typeName, zone, capacityType string) (float64, bool) {
		p, ok := c.price(typeName, zone, capacityType)
		whole, known := c.price(typeName, zone, catalog.OnDemand)
		if list[typeName] == 0 || !ok || !known {
			return 0, false
		}
		return list[typeName] * p / whole, true
	}, true, nil
}

// price is that of a zone's own offering. In a zone that has none, as in another region, it is
// that of the zone with the same letter, else the highest of any.
func (c *Catalogue) price(typeName, zone, capacityType string) (float64, bool) {
	t := c.priced[typeName]
	if t == nil {
		return 0, false
	}
	letter := strings.TrimPrefix(zone, region(zone))
	alike, highest, found := 0.0, 0.0, false
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if o.CapacityType != capacityType {
			continue
		}
		if o.Zone == zone {
			return o.Price, true
		}
		if strings.TrimPrefix(o.Zone, region(o.Zone)) == letter {
			alike = o.Price
		}
		highest, found = max(highest, o.Price), true
	}
	return cmp.Or(alike, highest), found
}
