package api

import (
	"context"
	"encoding/json"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// Documents writes what the account has that node classes draw on: subnets, security groups,
// roles and instance profiles, each page as the AWS CLI prints it. It only reads.
func (c *Client) Documents(ctx context.Context, w io.Writer) error {
	enc := json.NewEncoder(w)
	subnets := ec2.NewDescribeSubnetsPaginator(c.ec2, &ec2.DescribeSubnetsInput{})
	for subnets.HasMorePages() {
		page, err := subnets.NextPage(ctx)
		if err != nil {
			return translate("ec2:DescribeSubnets", err)
		}
		if err := enc.Encode(page); err != nil {
			return err
		}
	}
	groups := ec2.NewDescribeSecurityGroupsPaginator(c.ec2, &ec2.DescribeSecurityGroupsInput{})
	for groups.HasMorePages() {
		page, err := groups.NextPage(ctx)
		if err != nil {
			return translate("ec2:DescribeSecurityGroups", err)
		}
		if err := enc.Encode(page); err != nil {
			return err
		}
	}
	roles := iam.NewGetAccountAuthorizationDetailsPaginator(c.iam, &iam.GetAccountAuthorizationDetailsInput{
		Filter: []iamtypes.EntityType{iamtypes.EntityTypeRole}, MaxItems: aws.Int32(1000),
	})
	for roles.HasMorePages() {
		page, err := roles.NextPage(ctx)
		if err != nil {
			return translate("iam:GetAccountAuthorizationDetails", err)
		}
		if err := enc.Encode(page); err != nil {
			return err
		}
	}
	return nil
}
