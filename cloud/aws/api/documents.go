package api

import (
	"context"
	"encoding/json"
	"io"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// Documents writes what the account has that node classes draw on: subnets, security groups,
// capacity reservations, roles and instance profiles, each page as the AWS CLI prints it. It only reads.
func (c *Client) Documents(ctx context.Context, w io.Writer) error {
	enc := json.NewEncoder(w)
	subnets := ec2.NewDescribeSubnetsPaginator(c.ec2, &ec2.DescribeSubnetsInput{})
	if err := encode(enc, each(ctx, "ec2:DescribeSubnets", subnets)); err != nil {
		return err
	}
	groups := ec2.NewDescribeSecurityGroupsPaginator(c.ec2, &ec2.DescribeSecurityGroupsInput{})
	if err := encode(enc, each(ctx, "ec2:DescribeSecurityGroups", groups)); err != nil {
		return err
	}
	reservations := ec2.NewDescribeCapacityReservationsPaginator(c.ec2, &ec2.DescribeCapacityReservationsInput{})
	if err := encode(enc, each(ctx, "ec2:DescribeCapacityReservations", reservations)); err != nil {
		return err
	}
	roles := iam.NewGetAccountAuthorizationDetailsPaginator(c.iam, &iam.GetAccountAuthorizationDetailsInput{
		Filter: []iamtypes.EntityType{iamtypes.EntityTypeRole}, MaxItems: aws.Int32(1000),
	})
	return encode(enc, each(ctx, "iam:GetAccountAuthorizationDetails", roles))
}

// encode writes each page.
func encode[Out any](enc *json.Encoder, answers iter.Seq2[Out, error]) error {
	for page, err := range answers {
		if err != nil {
			return err
		}
		if err := enc.Encode(page); err != nil {
			return err
		}
	}
	return nil
}
