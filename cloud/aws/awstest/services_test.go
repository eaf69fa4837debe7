package awstest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
)

func TestAnInstanceProfileLivesAsInIAM(t *testing.T) {
	w := newWorld(t, awstest.Config{ProfileLag: 5 * time.Second})
	client, ctx := iam.NewFromConfig(w.aws), t.Context()
	name := aws.String("demo_1")
	expect := func(what, want string, err error) {
		t.Helper()
		if code(err) != want {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	_, err := client.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name})
	expect("get before", "NoSuchEntity", err)
	in := &iam.CreateInstanceProfileInput{InstanceProfileName: name, Path: aws.String("/karpenter/us-east-1/demo/uid/"), Tags: []iamtypes.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}
	_, err = client.CreateInstanceProfile(ctx, in)
	expect("create", "", err)
	_, err = client.CreateInstanceProfile(ctx, in)
	expect("create again", "EntityAlreadyExists", err)
	_, err = client.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("nobody")})
	expect("add what is missing", "NoSuchEntity", err)
	for _, want := range []string{"", "LimitExceeded"} {
		_, err = client.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("nodes")})
		expect("add", want, err)
	}
	got, err := client.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name})
	if err != nil || *got.InstanceProfile.Roles[0].RoleName != "nodes" || *got.InstanceProfile.Tags[0].Key != "a" || *got.InstanceProfile.Arn != "arn:aws:iam::111122223333:instance-profile/karpenter/us-east-1/demo/uid/demo_1" {
		t.Errorf("%+v, %v", got, err)
	}
	list, err := client.ListInstanceProfiles(ctx, &iam.ListInstanceProfilesInput{PathPrefix: aws.String("/karpenter/us-east-1/demo/")})
	if err != nil || len(list.InstanceProfiles) != 1 || list.IsTruncated {
		t.Errorf("%+v, %v", list, err)
	}

	run := func() error {
		_, err := w.ec2.RunInstances(ctx, &ec2.RunInstancesInput{MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large", ImageId: aws.String(x86), DryRun: aws.Bool(true),
			IamInstanceProfile: &types.IamInstanceProfileSpecification{Name: name}})
		return err
	}
	expect("launch at once", "InvalidParameterValue", run())
	w.clock.Step(5 * time.Second)
	expect("launch later", "DryRunOperation", run())

	_, err = client.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name})
	expect("delete with its role", "DeleteConflict", err)
	_, err = client.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("nodes")})
	expect("remove", "", err)
	_, err = client.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name})
	expect("delete", "", err)
	who, err := sts.NewFromConfig(w.aws).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil || *who.Account != "111122223333" {
		t.Errorf("%+v, %v", who, err)
	}
}

func TestAliasesLeadToImages(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	client, ctx := ssm.NewFromConfig(w.aws), t.Context()
	for name, want := range map[string]string{
		"/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/recommended/image_id":                                         "x86_64",
		"/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/standard/amazon-eks-node-al2023-arm64-standard-1.35-v20260101/image_id": "arm64",
		"/aws/service/bottlerocket/aws-k8s-1.35-nvidia/arm64/1.50.0/image_id":                                                                "arm64",
		"arn:aws:ssm:us-east-1::parameter/aws/service/ami-windows-latest/Windows_Server-2025-English-Core-EKS_Optimized-1.35/image_id":       "x86_64",
	} {
		p, err := client.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
		if err != nil {
			t.Error(name, err)
			continue
		}
		images, err := w.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{*p.Parameter.Value}})
		if err != nil || string(images.Images[0].Architecture) != want {
			t.Errorf("%s: %+v, %v", name, images, err)
		}
	}
	if _, err := client.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/aws/service/eks/optimized-ami/1.35/amazon-linux-2/recommended/image_id")}); code(err) != "ParameterNotFound" {
		t.Errorf("Amazon Linux 2 of 1.35: %v", err)
	}
	both, err := client.GetParameters(ctx, &ssm.GetParametersInput{Names: []string{"/none", "/aws/service/bottlerocket/aws-k8s-1.35/x86_64/latest/image_id"}})
	if err != nil || len(both.Parameters) != 1 || both.InvalidParameters[0] != "/none" {
		t.Errorf("%+v, %v", both, err)
	}
}

func TestTheClusterItsPricesAndItsShifts(t *testing.T) {
	w := newWorld(t, awstest.Config{Endpoint: "https://api.example", CA: []byte("PEM")})
	ctx := t.Context()
	cluster, err := eks.NewFromConfig(w.aws).DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String("demo")})
	if err != nil || *cluster.Cluster.Endpoint != "https://api.example" || *cluster.Cluster.CertificateAuthority.Data != "UEVN" ||
		*cluster.Cluster.KubernetesNetworkConfig.ServiceIpv4Cidr != "10.100.0.0/16" || *cluster.Cluster.Version != "1.35" {
		t.Fatalf("%+v, %v", cluster, err)
	}
	if _, err := eks.NewFromConfig(w.aws).DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String("other")}); code(err) != "ResourceNotFoundException" {
		t.Errorf("another cluster: %v", err)
	}

	prices := map[string]string{}
	pages := pricing.NewGetProductsPaginator(pricing.NewFromConfig(w.aws), &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: []pricingtypes.Filter{
		{Type: "TERM_MATCH", Field: aws.String("regionCode"), Value: aws.String("us-east-1")}, {Type: "TERM_MATCH", Field: aws.String("serviceCode"), Value: aws.String("AmazonEC2")},
		{Type: "TERM_MATCH", Field: aws.String("tenancy"), Value: aws.String("Shared")}, {Type: "TERM_MATCH", Field: aws.String("productFamily"), Value: aws.String("Compute Instance")}}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range page.PriceList {
			var p struct {
				Product struct{ Attributes struct{ InstanceType string } }
				Terms   struct {
					OnDemand map[string]struct {
						PriceDimensions map[string]struct{ PricePerUnit struct{ USD string } }
					}
				}
			}
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				t.Fatal(err)
			}
			for _, term := range p.Terms.OnDemand {
				for _, d := range term.PriceDimensions {
					prices[p.Product.Attributes.InstanceType] = d.PricePerUnit.USD
				}
			}
		}
	}
	if len(prices) < 1000 || !strings.HasPrefix(prices["m5.large"], "0.096") {
		t.Errorf("%d prices, m5.large costs %s", len(prices), prices["m5.large"])
	}

	id := w.ShiftAway("use1-az1", time.Hour)
	w.ShiftAway("use1-az2", time.Minute)
	w.clock.Step(time.Minute)
	in := &arczonalshift.GetManagedResourceInput{ResourceIdentifier: cluster.Cluster.Arn}
	shifts, err := arczonalshift.NewFromConfig(w.aws).GetManagedResource(ctx, in)
	if err != nil || len(shifts.ZonalShifts) != 1 || *shifts.ZonalShifts[0].AwayFrom != "use1-az1" || shifts.ZonalShifts[0].AppliedStatus != "APPLIED" || !shifts.ZonalShifts[0].ExpiryTime.Equal(start.Add(time.Hour)) {
		t.Errorf("%+v, %v", shifts, err)
	}
	w.CancelShift(id)
	if shifts, err := arczonalshift.NewFromConfig(w.aws).GetManagedResource(ctx, in); err != nil || len(shifts.ZonalShifts) != 0 {
		t.Errorf("after it was cancelled: %+v, %v", shifts, err)
	}
}

func TestCallsAreThrottledByTheirBuckets(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	w.SetLimits(awstest.DocumentedLimits())
	in := &ec2.RunInstancesInput{MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large", ImageId: aws.String(x86)}
	for i := range 7 {
		_, err := w.ec2.RunInstances(t.Context(), in)
		in.ClientToken = nil
		if want := map[bool]string{true: "RequestLimitExceeded"}[i >= 5]; code(err) != want {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
	w.clock.Step(time.Second / 2)
	if _, err := w.ec2.RunInstances(t.Context(), in); err != nil {
		t.Errorf("half a second later: %v", err)
	}
	all, throttled := w.Calls()
	if all["ec2:RunInstances"] != 8 || throttled["ec2:RunInstances"] != 2 {
		t.Errorf("%v calls, %v throttled", all, throttled)
	}
}

func TestFaultsBefallTheNextCalls(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	w.template("nodes")
	w.Inject(awstest.Fault{Action: "ec2:CreateFleet", Times: 1})
	w.Inject(awstest.Fault{Action: "ec2:Describe*", Code: "UnauthorizedOperation", Message: "no", Status: 403})
	in := fleetInput("nodes", types.DefaultTargetCapacityTypeOnDemand, 1, "m5.large/a")
	in.ClientToken = aws.String("claim-1")
	if _, err := w.ec2.CreateFleet(t.Context(), in); err == nil {
		t.Error("the reply was not lost")
	}
	first := w.fleet(in)
	if _, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{}); code(err) != "UnauthorizedOperation" {
		t.Errorf("got %v", err)
	}
	w.ClearFaults()
	all, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	if err != nil || len(all.Reservations) != 1 || *all.Reservations[0].Instances[0].InstanceId != ids(first)[0] {
		t.Errorf("the retry made another instance: %d, %v", len(all.Reservations), err)
	}
}
