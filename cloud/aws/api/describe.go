package api

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/cloud/aws/image"
	"github.com/millwright-dev/millwright/cloud/aws/network"
	"github.com/millwright-dev/millwright/cloud/aws/selector"
)

func filters(q selector.Query) []types.Filter {
	out := make([]types.Filter, len(q.Filters))
	for i, f := range q.Filters {
		out[i] = types.Filter{Name: aws.String(f.Name), Values: f.Values}
	}
	return out
}

// Subnets lists the subnets that a query finds.
func (c *Client) Subnets(ctx context.Context, q selector.Query) ([]network.Subnet, error) {
	var out []network.Subnet
	pages := ec2.NewDescribeSubnetsPaginator(c.ec2, &ec2.DescribeSubnetsInput{Filters: filters(q)})
	for page, err := range each(ctx, "ec2:DescribeSubnets", pages) {
		if err != nil {
			return nil, err
		}
		for _, s := range page.Subnets {
			out = append(out, network.Subnet{
				ID: value(s.SubnetId), Zone: value(s.AvailabilityZone), ZoneID: value(s.AvailabilityZoneId), Free: int64(value(s.AvailableIpAddressCount)),
			})
		}
	}
	return out, nil
}

// SecurityGroups lists the security groups that a query finds.
func (c *Client) SecurityGroups(ctx context.Context, q selector.Query) ([]ec2class.SecurityGroup, error) {
	var out []ec2class.SecurityGroup
	pages := ec2.NewDescribeSecurityGroupsPaginator(c.ec2, &ec2.DescribeSecurityGroupsInput{Filters: filters(q)})
	for page, err := range each(ctx, "ec2:DescribeSecurityGroups", pages) {
		if err != nil {
			return nil, err
		}
		for _, g := range page.SecurityGroups {
			out = append(out, ec2class.SecurityGroup{ID: value(g.GroupId), Name: value(g.GroupName)})
		}
	}
	return out, nil
}

// architectures are those that Kubernetes has a word for.
var architectures = map[string]string{"x86_64": "amd64", "arm64": "arm64"}

// Images lists the images that a query finds, deprecated ones as well.
func (c *Client) Images(ctx context.Context, q selector.Query) ([]image.Image, error) {
	var out []image.Image
	pages := ec2.NewDescribeImagesPaginator(c.ec2, &ec2.DescribeImagesInput{Filters: filters(q), Owners: q.Owners, IncludeDeprecated: aws.Bool(true), MaxResults: aws.Int32(1000)})
	for page, err := range each(ctx, "ec2:DescribeImages", pages) {
		if err != nil {
			return nil, err
		}
		for _, i := range page.Images {
			out = append(out, image.Image{
				ID: value(i.ImageId), Name: value(i.Name), Arch: architectures[string(i.Architecture)],
				Created: moment(value(i.CreationDate)), Deprecated: moment(value(i.DeprecationTime)),
			})
		}
	}
	return out, nil
}

// moment reads a time as EC2 writes it in a text; zero if it is none.
func moment(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Reservation is a capacity reservation and how many machines it still has room for.
type Reservation struct {
	ec2class.CapacityReservation
	Left int
}

// Expiring is how long before EC2 reclaims the machines of a capacity block it gets none any more, as
// in Karpenter.
const Expiring = 10 * time.Minute

// Reclaims is how long before the end of a capacity block EC2 begins to reclaim its machines: half an
// hour, for instance types of UltraServers an hour.
func Reclaims(instanceType string) time.Duration {
	if strings.HasPrefix(instanceType, "p6e-") || strings.HasPrefix(instanceType, "trn2u.") {
		return time.Hour
	}
	return 30 * time.Minute
}

// Reservations lists the capacity reservations that a query finds and that Kubernetes' words
// fit; now tells which of them end soon.
func (c *Client) Reservations(ctx context.Context, q selector.Query, now time.Time) ([]Reservation, error) {
	var ids []string
	in := &ec2.DescribeCapacityReservationsInput{MaxResults: aws.Int32(1000)}
	var rest selector.Query
	for _, f := range q.Filters {
		if f.Name == "capacity-reservation-id" {
			ids = f.Values
			continue
		}
		rest.Filters = append(rest.Filters, f)
	}
	in.Filters, in.CapacityReservationIds = filters(rest), ids
	if len(ids) > 0 {
		in.MaxResults = nil // not together with IDs
	}
	var out []Reservation
	pages := ec2.NewDescribeCapacityReservationsPaginator(c.ec2, in)
	for page, err := range each(ctx, "ec2:DescribeCapacityReservations", pages) {
		if err != nil {
			return nil, err
		}
		for i := range page.CapacityReservations {
			if r, ok := reservation(&page.CapacityReservations[i], now); ok {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

func reservation(r *types.CapacityReservation, now time.Time) (Reservation, bool) {
	kind := ec2class.CapacityReservationTypeDefault
	if r.ReservationType == types.CapacityReservationTypeCapacityBlock {
		kind = ec2class.CapacityReservationTypeCapacityBlock
	}
	match := string(r.InstanceMatchCriteria)
	if match != "open" && match != "targeted" {
		return Reservation{}, false
	}
	out := ec2class.CapacityReservation{
		AvailabilityZone: value(r.AvailabilityZone), ID: value(r.CapacityReservationId), InstanceMatchCriteria: match,
		InstanceType: value(r.InstanceType), OwnerID: value(r.OwnerId), ReservationType: kind,
		Interruptible: value(r.Interruptible), State: ec2class.CapacityReservationStateActive,
	}
	if r.EndDate != nil {
		end := metav1.NewTime(*r.EndDate)
		out.EndTime = &end
		if kind == ec2class.CapacityReservationTypeCapacityBlock && !now.Before(end.Add(-Reclaims(out.InstanceType)-Expiring)) {
			out.State = ec2class.CapacityReservationStateExpiring
		}
	}
	return Reservation{out, int(value(r.AvailableInstanceCount))}, true
}

// PlacementGroup is a placement group.
type PlacementGroup struct {
	ID, Name, Strategy string
	Partitions         int64
}

// PlacementGroup finds a placement group by its ID or its name; nil if there is none that can
// be used.
func (c *Client) PlacementGroup(ctx context.Context, id, name string) (*PlacementGroup, error) {
	in := &ec2.DescribePlacementGroupsInput{Filters: []types.Filter{{Name: aws.String("state"), Values: []string{"available"}}}}
	if id != "" {
		in.GroupIds = []string{id}
	} else {
		in.GroupNames = []string{name}
	}
	out, err := c.ec2.DescribePlacementGroups(ctx, in)
	if code := code(err); code == "InvalidPlacementGroup.Unknown" || code == "InvalidPlacementGroupId.NotFound" {
		return nil, nil
	}
	if err != nil || len(out.PlacementGroups) == 0 {
		return nil, translate("ec2:DescribePlacementGroups", err)
	}
	g := out.PlacementGroups[0]
	return &PlacementGroup{value(g.GroupId), value(g.GroupName), string(g.Strategy), int64(value(g.PartitionCount))}, nil
}

// TypeZones lists the zones in which each instance type is sold.
func (c *Client) TypeZones(ctx context.Context) (map[string][]string, error) {
	out := map[string][]string{}
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(c.ec2, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone, MaxResults: aws.Int32(1000),
	})
	for page, err := range each(ctx, "ec2:DescribeInstanceTypeOfferings", pages) {
		if err != nil {
			return nil, err
		}
		for _, o := range page.InstanceTypeOfferings {
			out[string(o.InstanceType)] = append(out[string(o.InstanceType)], value(o.Location))
		}
	}
	return out, nil
}

// SpotPrice is what spot capacity cost last, in US dollars per hour.
type SpotPrice struct {
	Type, Zone string
	Price      float64
	At         time.Time
}

// SpotPrices lists the present spot prices for Linux, in any order; of a type and zone there
// may be several.
func (c *Client) SpotPrices(ctx context.Context, now time.Time) ([]SpotPrice, error) {
	var out []SpotPrice
	pages := ec2.NewDescribeSpotPriceHistoryPaginator(c.ec2, &ec2.DescribeSpotPriceHistoryInput{
		ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"}, StartTime: aws.Time(now), MaxResults: aws.Int32(1000),
	})
	for page, err := range each(ctx, "ec2:DescribeSpotPriceHistory", pages) {
		if err != nil {
			return nil, err
		}
		for _, p := range page.SpotPriceHistory {
			price, err := strconv.ParseFloat(value(p.SpotPrice), 64)
			if err != nil {
				continue
			}
			out = append(out, SpotPrice{string(p.InstanceType), value(p.AvailabilityZone), price, value(p.Timestamp)})
		}
	}
	return out, nil
}
