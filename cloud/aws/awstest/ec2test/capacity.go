package ec2test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/describe"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/chance"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// Offering is what capacity is counted for.
type Offering struct {
	Type, Zone string
	// Spot says that it is spot capacity, else on-demand.
	Spot bool
}

// String is type/zone/capacity type.
func (o Offering) String() string {
	if o.Spot {
		return o.Type + "/" + o.Zone + "/spot"
	}
	return o.Type + "/" + o.Zone + "/on-demand"
}

// limit is how many instances each offering of a pattern holds, and what others fail with.
type limit struct {
	pattern string
	most    int
	err     *wire.Error
}

// Sells reports whether there is an instance type and a zone.
func (e *EC2) Sells(typeName, zone string) bool {
	_, ok := e.network.Zone(zone)
	return ok && e.types[typeName] != nil
}

// SetCapacity says how many instances that are not stopped or terminated each offering of a
// pattern holds at most: m5.*/us-east-1a/spot. Parts are globs, those left out match everything;
// a negative number lifts the limit. Of several patterns that match the last one counts. Others
// fail for lack of capacity, if nothing else is said. Errors: a pattern that nothing fits.
func (e *EC2) SetCapacity(pattern string, most int, because ...*wire.Error) error {
	for strings.Count(pattern, "/") < 2 {
		pattern += "/*"
	}
	if _, err := path.Match(pattern, ""); err != nil || strings.Count(pattern, "/") > 2 {
		return fmt.Errorf("%q is not a pattern type/zone/capacity type", pattern)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.sellsSome(pattern) {
		return fmt.Errorf("EC2 sells nothing that fits %s", pattern)
	}
	if most < 0 {
		most = math.MaxInt
	}
	e.limits = append(slices.DeleteFunc(e.limits, func(l limit) bool { return l.pattern == pattern }), limit{pattern, most, cmp.Or(because...)})
	return nil
}

// sellsSome reports whether an offering fits a pattern.
func (e *EC2) sellsSome(pattern string) bool {
	for name := range e.types {
		for _, z := range e.network.Zones {
			for _, spot := range []bool{true, false} {
				if ok, _ := path.Match(pattern, Offering{name, z.Name, spot}.String()); ok {
					return true
				}
			}
		}
	}
	return false
}

// left is how many more instances an offering holds, and what another fails with.
func (e *EC2) left(o Offering) (int, error) {
	sold := wire.Errorf("InsufficientInstanceCapacity", "We currently do not have sufficient %s capacity in the Availability Zone you requested (%s).", o.Type, o.Zone)
	for _, l := range slices.Backward(e.limits) {
		if ok, _ := path.Match(l.pattern, o.String()); ok {
			return max(0, l.most-e.used(o)), cmp.Or(l.err, sold)
		}
	}
	return math.MaxInt, sold
}

func (e *EC2) used(o Offering) int {
	n := 0
	for _, i := range e.instances {
		if i.offering == o && e.state(i) != terminated && e.state(i) != stopped {
			n++
		}
	}
	return n
}

// price is that of an hour, in USD.
func (e *EC2) price(o Offering) float64 {
	t := e.types[o.Type]
	if !o.Spot {
		return t.OnDemand
	}
	share := 0.30 + 0.35*chance.Fraction(e.config.Seed, "spot", o.Type)
	share *= 0.93 + 0.14*chance.Fraction(e.config.Seed, "spot", o.Type, o.Zone)
	return math.Round(t.OnDemand*share*1e4) / 1e4
}

// depth is how much a spot pool has to give, from 0 to 1.
func (e *EC2) depth(o Offering) float64 {
	return chance.Fraction(e.config.Seed, "depth", o.Type, o.Zone)
}

type spotPrice struct {
	InstanceType, AvailabilityZone, ProductDescription, SpotPrice string
	Timestamp                                                     time.Time
}

func (p spotPrice) key() string {
	return p.InstanceType + "/" + p.AvailabilityZone + "/" + p.ProductDescription
}

var spotFields = describe.Fields[spotPrice]{
	"instance-type":       describe.One(func(p spotPrice) string { return p.InstanceType }),
	"availability-zone":   describe.One(func(p spotPrice) string { return p.AvailabilityZone }),
	"product-description": describe.One(func(p spotPrice) string { return p.ProductDescription }),
	"spot-price":          describe.One(func(p spotPrice) string { return p.SpotPrice }),
}

type describeSpotPriceHistoryInput struct {
	describe.Query
	InstanceTypes, ProductDescriptions []string
	AvailabilityZone                   string
}

// describeSpotPriceHistory knows one price for each pool, as old as the day.
func describeSpotPriceHistory(e *EC2, in describeSpotPriceHistoryInput) (any, error) {
	var out struct {
		SpotPriceHistory []spotPrice
		NextToken        string
	}
	for _, name := range slices.Sorted(maps.Keys(e.types)) {
		if !e.types[name].Spot || len(in.InstanceTypes) > 0 && !slices.Contains(in.InstanceTypes, name) {
			continue
		}
		for _, z := range e.network.Zones {
			p := spotPrice{name, z.Name, "Linux/UNIX", strconv.FormatFloat(e.price(Offering{name, z.Name, true}), 'f', 6, 64), e.now().Truncate(24 * time.Hour)}
			ok, err := describe.Pass(in.Filters, spotFields, nil, p)
			if err != nil {
				return nil, err
			}
			asked := len(in.ProductDescriptions) == 0 || slices.Contains(in.ProductDescriptions, p.ProductDescription)
			if ok && asked && (in.AvailabilityZone == "" || in.AvailabilityZone == z.Name) {
				out.SpotPriceHistory = append(out.SpotPriceHistory, p)
			}
		}
	}
	slices.SortFunc(out.SpotPriceHistory, func(a, b spotPrice) int { return strings.Compare(a.key(), b.key()) })
	most := 1000
	if in.MaxResults == nil || *in.MaxResults == 0 || *in.MaxResults > most {
		in.MaxResults = &most
	}
	var err error
	out.SpotPriceHistory, out.NextToken, err = describe.Page(out.SpotPriceHistory, spotPrice.key, in.MaxResults, 1, most, in.NextToken)
	return out, err
}
