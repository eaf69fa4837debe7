package aws

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/millwright-dev/millwright/cloud/aws/api"
)

// Documents asks AWS for what node classes draw on, as the AWS CLI prints it. Of the
// configuration only Region and Endpoint count.
func Documents(ctx context.Context, c Config) (io.Reader, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	sdk, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := api.New(sdk).Documents(ctx, &out); err != nil {
		return nil, fmt.Errorf("asking AWS about the account: %w", err)
	}
	return &out, nil
}
