package api

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"
)

// Lists reports whether AWS's price list has a region: the partitions of governments are left
// out, and their credentials mean nothing to it.
func Lists(region string) bool {
	return !strings.HasPrefix(region, "us-gov-") && !strings.Contains(region, "-iso")
}

// pricesIn is the region whose endpoint has the prices of a region: there are few.
func pricesIn(region string) string {
	switch {
	case strings.HasPrefix(region, "ap-"):
		return "ap-south-1"
	case strings.HasPrefix(region, "cn-"):
		return "cn-northwest-1"
	case strings.HasPrefix(region, "eu-"):
		return "eu-central-1"
	}
	return "us-east-1"
}

// OnDemandPrices are what instance types cost for Linux, by name, per hour: in US dollars,
// or in a region of China in yuan. Bare metal is sold as dedicated hosts' are.
func (c *Client) OnDemandPrices(ctx context.Context, region string) (map[string]float64, error) {
	out := map[string]float64{}
	for tenancy, family := range map[string]string{"Shared": "Compute Instance", "Dedicated": "Compute Instance (bare metal)"} {
		in := &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), MaxResults: aws.Int32(100)}
		for _, f := range [][2]string{
			{"regionCode", region}, {"serviceCode", "AmazonEC2"}, {"preInstalledSw", "NA"}, {"operatingSystem", "Linux"},
			{"capacitystatus", "Used"}, {"marketoption", "OnDemand"}, {"tenancy", tenancy}, {"productFamily", family},
		} {
			in.Filters = append(in.Filters, types.Filter{Type: types.FilterTypeTermMatch, Field: aws.String(f[0]), Value: aws.String(f[1])})
		}
		for page, err := range each(ctx, "pricing:GetProducts", pricing.NewGetProductsPaginator(c.pricing, in)) {
			if err != nil {
				return nil, err
			}
			for _, text := range page.PriceList {
				if name, price, ok := product(text); ok {
					out[name] = price
				}
			}
		}
	}
	return out, nil
}

// product reads one entry of a price list.
func product(text string) (name string, price float64, ok bool) {
	var p struct {
		Product struct {
			Attributes struct {
				InstanceType string `json:"instanceType"`
			} `json:"attributes"`
		} `json:"product"`
		Terms struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct {
					PricePerUnit map[string]string `json:"pricePerUnit"`
				} `json:"priceDimensions"`
			} `json:"OnDemand"`
		} `json:"terms"`
	}
	if json.Unmarshal([]byte(text), &p) != nil || p.Product.Attributes.InstanceType == "" {
		return "", 0, false
	}
	for _, term := range p.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			for _, currency := range []string{"USD", "CNY"} {
				if n, err := strconv.ParseFloat(dimension.PricePerUnit[currency], 64); err == nil && n > 0 {
					return p.Product.Attributes.InstanceType, n, true
				}
			}
		}
	}
	return "", 0, false
}
