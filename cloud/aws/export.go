package aws

import (
	"context"
	"fmt"

	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/price"
	"github.com/millwright-dev/millwright/cloud/aws/provider"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Export asks AWS what it sells in a region, where and at what price. Of the configuration only
// Region, Endpoint and Isolated count.
func Export(ctx context.Context, c ProviderConfig) ([]*catalog.Type, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	sdk, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	book, err := price.NewBook(sdk.Region)
	if err != nil {
		return nil, err
	}
	p := provider.New(provider.Config{
		AWS: api.New(sdk), Region: sdk.Region, Prices: book, Isolated: c.Isolated, Settings: instancetype.DefaultSettings(),
	})
	types, err := p.Sold(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking AWS what it sells in %s: %w", sdk.Region, err)
	}
	return types, nil
}
