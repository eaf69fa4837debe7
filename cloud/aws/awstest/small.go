package awstest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/describe"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
	"github.com/millwright-dev/millwright/cloud/ec2"
)

// ssm plays the parameter store, read only.
type ssm struct {
	region string

	mu     sync.Mutex
	values map[string]string
}

type parameter struct {
	Name, Type, Value, ARN, DataType string
	Version                          int
}

func (s *ssm) find(nameOrARN string) (parameter, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := nameOrARN
	if _, after, ok := strings.Cut(nameOrARN, ":parameter"); ok && strings.HasPrefix(nameOrARN, "arn:") {
		name = after
	}
	value, ok := s.values[name]
	return parameter{name, "String", value, fmt.Sprintf("arn:aws:ssm:%s::parameter%s", s.region, name), "text", 1}, ok
}

func (s *ssm) get(in struct{ Name string }) (any, error) {
	p, ok := s.find(in.Name)
	if !ok {
		return nil, &wire.Error{Code: "ParameterNotFound", Message: in.Name}
	}
	return map[string]any{"Parameter": p}, nil
}

func (s *ssm) getAll(in struct{ Names []string }) (any, error) {
	var out struct {
		Parameters        []parameter
		InvalidParameters []string
	}
	for _, name := range in.Names {
		if p, ok := s.find(name); ok {
			out.Parameters = append(out.Parameters, p)
		} else {
			out.InvalidParameters = append(out.InvalidParameters, name)
		}
	}
	return out, nil
}

// SetParameter writes a parameter of the store, such as an AMI's ID under a name of one's
// own.
func (c *Cloud) SetParameter(name, value string) {
	c.ssm.mu.Lock()
	defer c.ssm.mu.Unlock()
	c.ssm.values[name] = value
}

// cluster plays EKS, which has one cluster.
func (c *Cloud) cluster(in struct{ Name string }) (any, error) {
	if in.Name != c.config.Cluster {
		return nil, &wire.Error{Code: "ResourceNotFoundException", Message: fmt.Sprintf("No cluster found for name: %s.", in.Name), Status: http.StatusNotFound}
	}
	var subnets, groups []string
	for _, s := range c.config.Network.Subnets {
		subnets = append(subnets, s.SubnetId)
	}
	for _, g := range c.config.Network.SecurityGroups {
		groups = append(groups, g.GroupId)
	}
	return map[string]any{"cluster": map[string]any{
		"name": in.Name, "arn": c.clusterARN(), "status": "ACTIVE", "version": c.config.Version,
		"endpoint": c.config.Endpoint, "certificateAuthority": map[string]any{"data": base64.StdEncoding.EncodeToString(c.config.CA)},
		"kubernetesNetworkConfig": map[string]any{"ipFamily": "ipv4", "serviceIpv4Cidr": c.config.ServiceCIDR},
		"resourcesVpcConfig":      map[string]any{"subnetIds": subnets, "securityGroupIds": groups},
	}}, nil
}

func (c *Cloud) clusterARN() string {
	return fmt.Sprintf("arn:aws:eks:%s:%s:cluster/%s", c.config.Region, c.config.Account, c.config.Cluster)
}

// product of the price list, as its JSON has it.
type product struct {
	Product struct {
		ProductFamily string            `json:"productFamily"`
		Attributes    map[string]string `json:"attributes"`
		SKU           string            `json:"sku"`
	} `json:"product"`
	ServiceCode string `json:"serviceCode"`
	Terms       struct {
		OnDemand map[string]term
	} `json:"terms"`
}

type term struct {
	PriceDimensions map[string]dimension `json:"priceDimensions"`
}

type dimension struct {
	Unit         string            `json:"unit"`
	PricePerUnit map[string]string `json:"pricePerUnit"`
}

func newProduct(t *ec2.Type, region string) product {
	var p product
	p.ServiceCode, p.Product.ProductFamily, p.Product.SKU = "AmazonEC2", "Compute Instance", "SKU-"+t.Name
	p.Product.Attributes = map[string]string{
		"instanceType": t.Name, "regionCode": region, "servicecode": "AmazonEC2", "preInstalledSw": "NA", "operatingSystem": "Linux",
		"capacitystatus": "Used", "marketoption": "OnDemand", "tenancy": "Shared", "vcpu": strconv.FormatInt(t.VCPUs, 10),
	}
	if t.BareMetal() { // is sold as dedicated hosts are
		p.Product.ProductFamily, p.Product.Attributes["tenancy"] = "Compute Instance (bare metal)", "Dedicated"
	}
	price := map[string]string{"USD": strconv.FormatFloat(t.OnDemand, 'f', 10, 64)}
	p.Terms.OnDemand = map[string]term{p.Product.SKU + ".JRTCKXETXF": {map[string]dimension{p.Product.SKU + ".JRTCKXETXF.6YS6EN2CT7": {"Hrs", price}}}}
	return p
}

// has reports whether a product passes a filter; names are compared as AWS does, whatever
// their case.
func (p *product) has(field, value string) bool {
	if strings.EqualFold(field, "productFamily") {
		return p.Product.ProductFamily == value
	}
	for name, have := range p.Product.Attributes {
		if strings.EqualFold(name, field) {
			return have == value
		}
	}
	return false
}

type getProductsInput struct {
	ServiceCode, NextToken string
	MaxResults             *int
	Filters                []struct{ Type, Field, Value string }
}

// products plays the price list: on-demand prices of package cloud/ec2 for the cloud's
// region, whichever it is.
func (c *Cloud) products(in getProductsInput) (any, error) {
	most := 100
	list, next, err := describe.Page(c.passing(&in), func(p product) string { return p.Product.SKU }, cmp.Or(in.MaxResults, &most), 1, most, in.NextToken)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(list))
	for i, p := range list {
		text, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		texts[i] = string(text)
	}
	return struct {
		FormatVersion, NextToken string
		PriceList                []string
	}{"aws_v1", next, texts}, nil
}

// passing are the products that pass all filters, in the order of their keys.
func (c *Cloud) passing(in *getProductsInput) []product {
	var out []product
	for i := range c.config.Types {
		p := newProduct(&c.config.Types[i], c.config.Region)
		misses := func(f struct{ Type, Field, Value string }) bool { return !p.has(f.Field, f.Value) }
		if in.ServiceCode == p.ServiceCode && !slices.ContainsFunc(in.Filters, misses) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b product) int { return cmp.Compare(a.Product.SKU, b.Product.SKU) })
	return out
}

// shift is a zonal shift that is in effect.
type shift struct {
	AppliedStatus, AwayFrom, Comment, ResourceIdentifier, ZonalShiftId string
	StartTime, ExpiryTime                                              time.Time
}

// arc plays ARC's zonal shifts.
type arc struct {
	mu     sync.Mutex
	serial int
	shifts []shift
}

// ShiftAway begins a zonal shift of the cluster away from a zone, by its ID such as
// use1-az1, that ends by itself. It returns the shift's ID.
func (c *Cloud) ShiftAway(zoneID string, d time.Duration) string {
	c.arc.mu.Lock()
	defer c.arc.mu.Unlock()
	c.arc.serial++
	now := c.config.Clock.Now()
	s := shift{"APPLIED", zoneID, "", c.clusterARN(), fmt.Sprintf("00000000-0000-4000-8000-%012d", c.arc.serial), now, now.Add(d)}
	c.arc.shifts = append(c.arc.shifts, s)
	return s.ZonalShiftId
}

// CancelShift ends a zonal shift.
func (c *Cloud) CancelShift(id string) {
	c.arc.mu.Lock()
	defer c.arc.mu.Unlock()
	c.arc.shifts = slices.DeleteFunc(c.arc.shifts, func(s shift) bool { return s.ZonalShiftId == id })
}

func (c *Cloud) managedResource(in struct {
	ResourceIdentifier string `json:"resourceIdentifier"`
}) (any, error) {
	if in.ResourceIdentifier != c.clusterARN() {
		return nil, &wire.Error{Code: "ResourceNotFoundException", Message: "The resource " + in.ResourceIdentifier + " is not registered.", Status: http.StatusNotFound}
	}
	c.arc.mu.Lock()
	defer c.arc.mu.Unlock()
	now := c.config.Clock.Now()
	live := slices.DeleteFunc(slices.Clone(c.arc.shifts), func(s shift) bool { return !now.Before(s.ExpiryTime) })
	return map[string]any{"arn": c.clusterARN(), "name": c.config.Cluster, "appliedWeights": map[string]any{}, "zonalShifts": live}, nil
}
