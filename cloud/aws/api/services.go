package api

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/millwright-dev/millwright/cloud/aws/fleet"
)

// Parameter is the value of an SSM parameter. Errors: cloud.ErrNotFound.
func (c *Client) Parameter(ctx context.Context, name string) (string, error) {
	out, err := c.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(name)})
	if err != nil {
		return "", translate("ssm:GetParameter", err)
	}
	if out.Parameter == nil {
		return "", nil
	}
	return value(out.Parameter.Value), nil
}

// Cluster is what EKS says of a cluster.
type Cluster struct {
	Endpoint, CA, Version, ARN string
	// ServiceCIDR is that of Services; IPv6 says that it is of that family.
	ServiceCIDR string
	IPv6        bool
}

// Cluster describes a cluster. Errors: cloud.ErrNotFound.
func (c *Client) Cluster(ctx context.Context, name string) (Cluster, error) {
	out, err := c.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(name)})
	if err != nil {
		return Cluster{}, translate("eks:DescribeCluster", err)
	}
	if out.Cluster == nil {
		return Cluster{}, nil
	}
	found := Cluster{Endpoint: value(out.Cluster.Endpoint), Version: value(out.Cluster.Version), ARN: value(out.Cluster.Arn)}
	if a := out.Cluster.CertificateAuthority; a != nil {
		found.CA = value(a.Data)
	}
	if n := out.Cluster.KubernetesNetworkConfig; n != nil {
		found.ServiceCIDR = value(n.ServiceIpv4Cidr)
		if six := value(n.ServiceIpv6Cidr); six != "" {
			found.ServiceCIDR, found.IPv6 = six, true
		}
	}
	return found, nil
}

// Profile is an instance profile.
type Profile struct {
	Name, Path string
	Roles      []string
}

// Profile finds an instance profile. Errors: cloud.ErrNotFound.
func (c *Client) Profile(ctx context.Context, name string) (Profile, error) {
	out, err := c.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if err != nil {
		return Profile{}, translate("iam:GetInstanceProfile", err)
	}
	return profile(out.InstanceProfile), nil
}

// Profiles lists the instance profiles below a path.
func (c *Client) Profiles(ctx context.Context, path string) ([]Profile, error) {
	var out []Profile
	pages := iam.NewListInstanceProfilesPaginator(c.iam, &iam.ListInstanceProfilesInput{PathPrefix: aws.String(path)})
	for page, err := range each(ctx, "iam:ListInstanceProfiles", pages) {
		if err != nil {
			return nil, err
		}
		for i := range page.InstanceProfiles {
			out = append(out, profile(&page.InstanceProfiles[i]))
		}
	}
	return out, nil
}

func profile(p *iamtypes.InstanceProfile) Profile {
	if p == nil {
		return Profile{}
	}
	out := Profile{Name: value(p.InstanceProfileName), Path: value(p.Path)}
	for _, r := range p.Roles {
		out.Roles = append(out.Roles, value(r.RoleName))
	}
	return out
}

// CreateProfile makes an instance profile; one that exists is fine.
func (c *Client) CreateProfile(ctx context.Context, name, path string, values map[string]string) error {
	in := &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String(name), Path: aws.String(path)}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		in.Tags = append(in.Tags, iamtypes.Tag{Key: aws.String(key), Value: aws.String(values[key])})
	}
	_, err := c.iam.CreateInstanceProfile(ctx, in)
	if code(err) == "EntityAlreadyExists" {
		return nil
	}
	return translate("iam:CreateInstanceProfile", err)
}

// SetRole gives an instance profile a role.
func (c *Client) SetRole(ctx context.Context, profile, role string) error {
	_, err := c.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String(profile), RoleName: aws.String(role)})
	return translate("iam:AddRoleToInstanceProfile", err)
}

// DeleteProfile takes the roles from an instance profile and deletes it; one that is gone is
// fine.
func (c *Client) DeleteProfile(ctx context.Context, p Profile) error {
	for _, role := range p.Roles {
		_, err := c.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: aws.String(p.Name), RoleName: aws.String(role)})
		if err != nil && meaning(err) != fleet.Gone {
			return translate("iam:RemoveRoleFromInstanceProfile", err)
		}
	}
	_, err := c.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String(p.Name)})
	if meaning(err) == fleet.Gone {
		return nil
	}
	return translate("iam:DeleteInstanceProfile", err)
}
