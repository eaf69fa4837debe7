package aws

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	sdktypes "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/ec2"
)

// kubernetes is an API server that tells its version, and a DNS Service.
func kubernetes(t *testing.T, objects ...client.Object) Kubernetes {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"major":"1","minor":"34+"}`)
	}))
	t.Cleanup(server.Close)
	reader := fake.NewClientBuilder().WithObjects(objects...).Build()
	return Kubernetes{REST: &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: nil}}, Cached: reader, Live: reader}
}

func emulated(t *testing.T) string {
	t.Helper()
	types, err := ec2.Types()
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := awstest.New(awstest.Config{Types: types[:20]})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none"} {
		t.Setenv(name, value)
	}
	return server.URL
}

func TestTheProviderStartsWithWhatTheFlagsSay(t *testing.T) {
	dns := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}, Spec: corev1.ServiceSpec{ClusterIP: "172.20.0.10"}}
	cluster := kubernetes(t, dns)
	cluster.Clock = clocktesting.NewFakeClock(time.Now().Add(-time.Hour))
	p, err := NewProvider(t.Context(), ProviderConfig{
		Config: Config{Region: "us-east-1", Endpoint: emulated(t)}, Cluster: "demo", ClusterEndpoint: "https://demo.example", CABundle: "Q0E=",
		Settings: instancetype.DefaultSettings(), Isolated: true,
	}, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if p.Clock != cluster.Clock {
		t.Error("node classes are not dated by the cluster's clock")
	}
	if c := p.Cluster; c.Name != "demo" || c.Endpoint != "https://demo.example" || c.CA != "Q0E=" || c.DNS.String() != "172.20.0.10" || p.Kubernetes != "1.34" || p.IPv6 {
		t.Errorf("the cluster is %+v, Kubernetes %s, IPv6 %v", c, p.Kubernetes, p.IPv6)
	}
}

// onInstance has the environment of a process on an emulated instance, which is told nothing
// but where AWS is.
func onInstance(t *testing.T) (*awstest.Cloud, string) {
	t.Helper()
	types, err := ec2.Types()
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := awstest.New(awstest.Config{Types: types[:20], Region: "eu-west-1", Queues: []string{"announcements"}, CA: []byte("authority"), Endpoint: "https://eks.example"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	own := sdk.New(sdk.Options{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
	})})
	images, err := own.DescribeImages(t.Context(), &sdk.DescribeImagesInput{Filters: []sdktypes.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}}})
	if err != nil {
		t.Fatal(err)
	}
	subnets, err := own.DescribeSubnets(t.Context(), &sdk.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	x86 := slices.IndexFunc(types[:20], func(t ec2.Type) bool { return t.Arch() == "amd64" })
	run, err := own.RunInstances(t.Context(), &sdk.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: images.Images[0].ImageId, InstanceType: sdktypes.InstanceType(types[x86].Name), SubnetId: subnets.Subnets[0].SubnetId,
	})
	if err != nil {
		t.Fatal(err)
	}
	metadata := httptest.NewServer(cloud.Metadata(*run.Instances[0].InstanceId))
	t.Cleanup(metadata.Close)
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none", "AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL,
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
	} {
		t.Setenv(name, value)
	}
	return cloud, server.URL
}

func TestAnInstanceKnowsRegionAndCredentialsAndEKSTheRest(t *testing.T) {
	cloud, url := onInstance(t)
	config := Config{Endpoint: url, Queue: "announcements", MaxAge: time.Minute}
	p, err := NewProvider(t.Context(), ProviderConfig{Config: config, Cluster: "demo", Settings: instancetype.DefaultSettings(), EKSVersion: true}, kubernetes(t))
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Cluster; p.Region != "eu-west-1" || c.Endpoint != "https://eks.example" || c.CA != "YXV0aG9yaXR5" || c.ServiceCIDR != "10.100.0.0/16" || p.Kubernetes != "1.35" {
		t.Errorf("region %s, cluster %+v, Kubernetes %s", p.Region, c, p.Kubernetes)
	}
	sources, err := Announcements(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.SQS.Send("announcements", "not an event", 0); err != nil {
		t.Fatal(err)
	}
	if list, err := sources.Queue.Receive(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("the queue, by its name: %v, %v", list, err)
	}
}

func TestWithoutRegionAndInstanceItIsSaidWhatToDo(t *testing.T) {
	url := emulated(t)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	_, err := NewProvider(t.Context(), ProviderConfig{Config: Config{Endpoint: url}, Cluster: "demo"}, kubernetes(t))
	if err == nil || !strings.HasPrefix(err.Error(), "--aws-region: required;") {
		t.Errorf("answered %v", err)
	}
}

func TestWhatIsMissingAtTheStartIsSaid(t *testing.T) {
	url := emulated(t)
	for want, c := range map[string]ProviderConfig{
		"--cluster-name: required with --provider aws":                                      {},
		"--vm-memory-overhead-percent: must be a share from 0 to 1, such as 0.075, not 7.5": {Cluster: "demo", Settings: instancetype.Settings{MemoryOverhead: 7.5}},
		"--reserved-enis: must not be negative, not -1":                                     {Cluster: "demo", Settings: instancetype.Settings{ReservedENIs: -1}},
		"--cluster-ca-bundle: is not base64":                                                {Cluster: "demo", CABundle: "?"},
		"asking EKS for cluster other; set --cluster-endpoint if it is none of EKS's":       {Cluster: "other", Config: Config{Region: "us-east-1", Endpoint: url}},
		"--enable-zonal-shift: EKS does not tell the ARN of cluster other: ":                {Cluster: "other", ClusterEndpoint: "https://demo.example", ZonalShift: true, Config: Config{Region: "us-east-1", Endpoint: url}},
		"--aws-region: \"Ireland\" is not a region, such as eu-west-1":                      {Cluster: "demo", Config: Config{Region: "Ireland"}},
	} {
		if _, err := NewProvider(t.Context(), c, kubernetes(t)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("answered %v, want %s", err, want)
		}
	}
}
