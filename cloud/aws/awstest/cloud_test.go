package awstest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/vpc"
)

// world is a cloud, its clock and a client of the SDK.
type world struct {
	*awstest.Cloud
	t     *testing.T
	clock *clocktesting.FakeClock
	ec2   *ec2.Client
	aws   aws.Config
}

var start = time.Date(2026, 10, 5, 9, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, c awstest.Config) *world {
	t.Helper()
	t.Parallel()
	clock := clocktesting.NewFakeClock(start)
	c.Clock = clock
	if c.Delays == (ec2test.Delays{}) {
		c.Delays = ec2test.Delays{Boot: 10 * time.Second, Shutdown: 30 * time.Second}
	}
	cloud, err := awstest.New(c)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(cloud)
	t.Cleanup(web.Close)
	config := aws.Config{Region: "us-east-1", BaseEndpoint: &web.URL, HTTPClient: &http.Client{Transport: awstest.Transport{RoundTripper: web.Client().Transport}}, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret"}, nil
		})}
	return &world{Cloud: cloud, t: t, clock: clock, ec2: ec2.NewFromConfig(config), aws: config}
}

// code is that of an error of AWS, empty without one.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

const (
	x86 = "ami-00000000000000x86"
	arm = "ami-00000000000000a64"
)

// template makes a launch template as controllers do.
func (w *world) template(name string) {
	w.t.Helper()
	if _, err := w.ec2.CreateLaunchTemplate(w.t.Context(), templateInput(name)); err != nil {
		w.t.Fatal(err)
	}
}

func templateInput(name string) *ec2.CreateLaunchTemplateInput {
	return &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name,
		LaunchTemplateData: &types.RequestLaunchTemplateData{
			ImageId: aws.String(x86), UserData: aws.String("aGVsbG8="),
			IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes")},
			NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
				{DeviceIndex: aws.Int32(0), Groups: []string{"sg-0000000000000000a"}},
			},
			MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: types.LaunchTemplateHttpTokensStateRequired},
		},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: tags("karpenter.k8s.aws/cluster", "demo")}},
	}
}

func tags(words ...string) []types.Tag {
	var out []types.Tag
	for i := 0; i < len(words); i += 2 {
		out = append(out, types.Tag{Key: &words[i], Value: &words[i+1]})
	}
	return out
}

// fleetInput asks for n instances of any of type/subnet.
func fleetInput(template string, capacity types.DefaultTargetCapacityType, n int32, overrides ...string) *ec2.CreateFleetInput {
	in := &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: &n, DefaultTargetCapacityType: capacity,
		},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: tags("karpenter.sh/nodepool", "default", "eks:eks-cluster-name", "demo")},
			{ResourceType: types.ResourceTypeVolume, Tags: tags("karpenter.sh/nodepool", "default")},
			{ResourceType: types.ResourceTypeFleet, Tags: tags("karpenter.sh/nodepool", "default")},
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: &template, Version: aws.String("$Latest")},
		}},
	}
	for _, o := range overrides {
		name, subnet, _ := strings.Cut(o, "/")
		in.LaunchTemplateConfigs[0].Overrides = append(in.LaunchTemplateConfigs[0].Overrides, types.FleetLaunchTemplateOverridesRequest{
			InstanceType: types.InstanceType(name), SubnetId: aws.String("subnet-0000000000000000" + subnet), ImageId: aws.String(x86),
			AvailabilityZone: aws.String("us-east-1" + subnet),
		})
	}
	return in
}

func (w *world) fleet(in *ec2.CreateFleetInput) *ec2.CreateFleetOutput {
	w.t.Helper()
	out, err := w.ec2.CreateFleet(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// show is what a fleet got, type/zone/lifecycle×n, and its errors.
func show(out *ec2.CreateFleetOutput) string {
	var words []string
	for _, i := range out.Instances {
		words = append(words, fmt.Sprintf("%s/%s/%s×%d", i.InstanceType, *i.LaunchTemplateAndOverrides.Overrides.AvailabilityZone, i.Lifecycle, len(i.InstanceIds)))
	}
	for _, e := range out.Errors {
		words = append(words, fmt.Sprintf("%s/%s: %s", e.LaunchTemplateAndOverrides.Overrides.InstanceType, *e.LaunchTemplateAndOverrides.Overrides.AvailabilityZone, *e.ErrorCode))
	}
	return strings.Join(words, ", ")
}

func ids(out *ec2.CreateFleetOutput) []string {
	var all []string
	for _, i := range out.Instances {
		all = append(all, i.InstanceIds...)
	}
	return all
}

func (w *world) instance(id string) types.Instance {
	w.t.Helper()
	out, err := w.ec2.DescribeInstances(w.t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.Reservations[0].Instances[0]
}

func TestTypesAreReadPageByPageAsControllersDo(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	seen := map[types.InstanceType]types.InstanceTypeInfo{}
	pages := ec2.NewDescribeInstanceTypesPaginator(w.ec2, &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(100), Filters: []types.Filter{
		{Name: aws.String("supported-virtualization-type"), Values: []string{"hvm"}},
		{Name: aws.String("processor-info.supported-architecture"), Values: []string{"x86_64", "arm64"}},
	}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.InstanceTypes {
			seen[i.InstanceType] = i
		}
	}
	if len(seen) < 1000 {
		t.Errorf("%d types", len(seen))
	}
	m5, gpu, neuron := seen["m5.large"], seen["g5.12xlarge"], seen["inf2.24xlarge"]
	if *m5.VCpuInfo.DefaultVCpus != 2 || *m5.MemoryInfo.SizeInMiB != 8192 || *m5.NetworkInfo.NetworkCards[*m5.NetworkInfo.DefaultNetworkCardIndex].MaximumNetworkInterfaces != 3 ||
		*m5.NetworkInfo.Ipv4AddressesPerInterface != 10 || *m5.ProcessorInfo.Manufacturer != "Intel" || *m5.BareMetal || m5.GpuInfo != nil {
		t.Errorf("m5.large is %+v", m5)
	}
	if g := gpu.GpuInfo.Gpus[0]; *g.Name != "A10G" || *g.Manufacturer != "NVIDIA" || *g.Count != 4 || *g.MemoryInfo.SizeInMiB < 20000 {
		t.Errorf("g5.12xlarge has %+v", g)
	}
	if d := neuron.NeuronInfo.NeuronDevices[0]; *d.Name != "Inferentia2" || *d.Count != 6 || *d.CoreInfo.Count != 2 {
		t.Errorf("inf2.24xlarge has %+v", d)
	}
	_, err := w.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{DryRun: aws.Bool(true)})
	if code(err) != "DryRunOperation" {
		t.Errorf("a dry run says %v", err)
	}
}

func TestAFleetTakesTheCheapestAndGoesOnWhenItIsSoldOut(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	w.template("nodes")
	want := func(got *ec2.CreateFleetOutput, text string) {
		t.Helper()
		if show(got) != text {
			t.Errorf("got  %s\nwant %s", show(got), text)
		}
	}
	od := types.DefaultTargetCapacityTypeOnDemand
	any := []string{"m5.xlarge/a", "m5.large/a", "m5.large/b"}
	want(w.fleet(fleetInput("nodes", od, 2, any...)), "m5.large/us-east-1a/on-demand×2")
	if err := w.EC2.SetCapacity("m5.large/*/on-demand", 3); err != nil {
		t.Fatal(err)
	}
	want(w.fleet(fleetInput("nodes", od, 6, any...)),
		"m5.large/us-east-1a/on-demand×1, m5.large/us-east-1b/on-demand×3, m5.xlarge/us-east-1a/on-demand×2, m5.large/us-east-1a: InsufficientInstanceCapacity, m5.large/us-east-1b: InsufficientInstanceCapacity")
	if err := w.EC2.SetCapacity("*", 0); err != nil {
		t.Fatal(err)
	}
	want(w.fleet(fleetInput("nodes", types.DefaultTargetCapacityTypeSpot, 1, any[:1]...)), "m5.xlarge/us-east-1a: InsufficientInstanceCapacity")
	broken := fleetInput("nodes", od, 1, "m5.large/x", "m6g.large/a")
	want(w.fleet(broken), "m6g.large/us-east-1a: InvalidParameterValue, m5.large/us-east-1x: InvalidSubnetID.NotFound")
	_, err := w.ec2.CreateFleet(t.Context(), fleetInput("none", od, 1, any...))
	if code(err) != "InvalidLaunchTemplateName.NotFoundException" {
		t.Errorf("without its template: %v", err)
	}
}

func TestATokenMakesACallOnce(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	w.template("nodes")
	in := fleetInput("nodes", types.DefaultTargetCapacityTypeOnDemand, 1, "m5.large/a")
	in.ClientToken = aws.String("claim-1")
	dry := *in
	dry.DryRun = aws.Bool(true)
	if _, err := w.ec2.CreateFleet(t.Context(), &dry); code(err) != "DryRunOperation" {
		t.Errorf("a dry run says %v", err)
	}
	first, again := w.fleet(in), w.fleet(in)
	if !slices.Equal(ids(first), ids(again)) || len(ids(first)) != 1 {
		t.Errorf("got %v, then %v", ids(first), ids(again))
	}
	in.LaunchTemplateConfigs[0].Overrides[0].InstanceType = "m5.xlarge"
	if _, err := w.ec2.CreateFleet(t.Context(), in); code(err) != "IdempotentParameterMismatch" {
		t.Errorf("with other parameters: %v", err)
	}
	all, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	if err != nil || len(all.Reservations) != 1 {
		t.Errorf("%d instances, %v", len(all.Reservations), err)
	}
}

func TestAnInstanceLivesByTheClock(t *testing.T) {
	w := newWorld(t, awstest.Config{Delays: ec2test.Delays{Boot: 10 * time.Second, Shutdown: 30 * time.Second, Lag: 2 * time.Second}})
	w.template("nodes")
	id := ids(w.fleet(fleetInput("nodes", types.DefaultTargetCapacityTypeSpot, 1, "m5.large/b")))[0]
	one := &ec2.DescribeInstancesInput{InstanceIds: []string{id}}
	if _, err := w.ec2.DescribeInstances(t.Context(), one); code(err) != "InvalidInstanceID.NotFound" {
		t.Errorf("at once: %v", err)
	}
	states := func(want types.InstanceStateName) {
		t.Helper()
		if got := w.instance(id).State.Name; got != want {
			t.Errorf("state is %s, want %s", got, want)
		}
	}
	w.clock.Step(2 * time.Second)
	states("pending")
	w.clock.Step(8 * time.Second)
	states("running")
	i := w.instance(id)
	if i.InstanceLifecycle != "spot" || *i.SpotInstanceRequestId == "" || *i.Placement.AvailabilityZone != "us-east-1b" || *i.Placement.AvailabilityZoneId != "use1-az2" ||
		*i.SecurityGroups[0].GroupId != "sg-0000000000000000a" || *i.PrivateIpAddress != "10.0.32.4" || *i.IamInstanceProfile.Arn != "arn:aws:iam::111122223333:instance-profile/nodes" ||
		!i.LaunchTime.Equal(start) || i.MetadataOptions.HttpTokens != "required" {
		t.Errorf("the instance is %+v", i)
	}
	if _, err := w.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: tags("Name", "one")}); err != nil {
		t.Fatal(err)
	}
	found, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{MaxResults: aws.Int32(1000), Filters: []types.Filter{
		{Name: aws.String("tag-key"), Values: []string{"karpenter.sh/nodepool"}}, {Name: aws.String("tag:Name"), Values: []string{"o?e", "x*"}},
		{Name: aws.String("instance-state-name"), Values: []string{"running"}}}})
	if err != nil || len(found.Reservations) != 1 {
		t.Errorf("found %d by filters, %v", len(found.Reservations), err)
	}
	end, err := w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	if err != nil || end.TerminatingInstances[0].CurrentState.Name != "shutting-down" || end.TerminatingInstances[0].PreviousState.Name != "running" {
		t.Errorf("terminating: %+v, %v", end, err)
	}
	states("shutting-down")
	w.clock.Step(30 * time.Second)
	states("terminated")
	w.clock.Step(time.Hour)
	if _, err := w.ec2.DescribeInstances(t.Context(), one); code(err) != "InvalidInstanceID.NotFound" {
		t.Errorf("an hour later: %v", err)
	}
}

func TestSubnetsRunOutOfAddresses(t *testing.T) {
	n := vpc.Default("us-east-1", "demo")
	n.Subnets[0].CidrBlock = "10.1.0.0/28" // 11 addresses
	w := newWorld(t, awstest.Config{Network: &n})
	w.template("nodes")
	out := w.fleet(fleetInput("nodes", types.DefaultTargetCapacityTypeOnDemand, 12, "m5.large/a"))
	if show(out) != "m5.large/us-east-1a/on-demand×11, m5.large/us-east-1a: InsufficientFreeAddressesInSubnet" {
		t.Errorf("got %s", show(out))
	}
	free := func() int32 {
		found, err := w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{MaxResults: aws.Int32(500), Filters: []types.Filter{
			{Name: aws.String("tag:karpenter.sh/discovery"), Values: []string{"demo"}}, {Name: aws.String("availability-zone"), Values: []string{"us-east-1a"}}}})
		if err != nil || len(found.Subnets) != 1 || *found.Subnets[0].AvailabilityZoneId != "use1-az1" {
			t.Fatalf("%+v, %v", found, err)
		}
		return *found.Subnets[0].AvailableIpAddressCount
	}
	if free() != 0 {
		t.Errorf("%d are free", free())
	}
	if _, err := w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: ids(out)[:3]}); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(time.Minute)
	if free() != 3 {
		t.Errorf("%d are free after three have gone", free())
	}
}

func TestLaunchTemplatesHaveUniqueNamesAndAreFoundByTag(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	w.template("nodes")
	if _, err := w.ec2.CreateLaunchTemplate(t.Context(), templateInput("nodes")); code(err) != "InvalidLaunchTemplateName.AlreadyExistsException" {
		t.Errorf("the second of a name: %v", err)
	}
	big := templateInput("big")
	big.LaunchTemplateData.UserData = aws.String(strings.Repeat("eHh4", 16384/3+1))
	if _, err := w.ec2.CreateLaunchTemplate(t.Context(), big); code(err) != "InvalidUserData.Malformed" {
		t.Errorf("too much user data: %v", err)
	}
	found, err := w.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{Filters: []types.Filter{{Name: aws.String("tag:karpenter.k8s.aws/cluster"), Values: []string{"demo"}}}})
	if err != nil || len(found.LaunchTemplates) != 1 || *found.LaunchTemplates[0].LaunchTemplateName != "nodes" {
		t.Errorf("%+v, %v", found, err)
	}
	versions, err := w.ec2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("nodes"), Versions: []string{"$Latest"}})
	if err != nil || *versions.LaunchTemplateVersions[0].LaunchTemplateData.NetworkInterfaces[0].DeviceIndex != 0 || *versions.LaunchTemplateVersions[0].LaunchTemplateData.UserData != "aGVsbG8=" {
		t.Errorf("%+v, %v", versions, err)
	}
	if _, err := w.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("nodes")}); err != nil {
		t.Error(err)
	}
	if _, err := w.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"nodes"}}); code(err) != "InvalidLaunchTemplateName.NotFoundException" {
		t.Errorf("after it was deleted: %v", err)
	}
}

func TestRunInstancesLaysTheRequestOverTheTemplate(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	w.template("nodes")
	in := &ec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(2), InstanceType: "m5.large", DryRun: aws.Bool(true),
		LaunchTemplate:    &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("nodes"), Version: aws.String("$Latest")},
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: aws.String("subnet-0000000000000000c")}},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: tags("a", "b")}},
	}
	if err := w.EC2.SetCapacity("m5.large", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ec2.RunInstances(t.Context(), in); code(err) != "DryRunOperation" {
		t.Errorf("a dry run, which does not look for capacity, says %v", err)
	}
	if err := w.EC2.SetCapacity("m5.large", -1); err != nil {
		t.Fatal(err)
	}
	in.DryRun = nil
	out, err := w.ec2.RunInstances(t.Context(), in)
	if err != nil || len(out.Instances) != 2 || *out.Instances[1].SubnetId != "subnet-0000000000000000c" || *out.Instances[0].ImageId != x86 || *out.Instances[0].Tags[0].Key != "a" {
		t.Errorf("%+v, %v", out, err)
	}
	in.ImageId, in.ClientToken = aws.String(arm), nil
	if _, err := w.ec2.RunInstances(t.Context(), in); code(err) != "InvalidParameterValue" {
		t.Errorf("an image of another architecture: %v", err)
	}
}

func TestSpotPricesAreBelowOnDemandAndTheSameAgain(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	in := &ec2.DescribeSpotPriceHistoryInput{ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"}, StartTime: &start, Filters: []types.Filter{{Name: aws.String("instance-type"), Values: []string{"m5.*"}}}}
	once, err := w.ec2.DescribeSpotPriceHistory(t.Context(), in)
	again, _ := w.ec2.DescribeSpotPriceHistory(t.Context(), in)
	if err != nil || len(once.SpotPriceHistory) < 15 || *once.SpotPriceHistory[0].SpotPrice != *again.SpotPriceHistory[0].SpotPrice {
		t.Errorf("%d prices, %v", len(once.SpotPriceHistory), err)
	}
}
