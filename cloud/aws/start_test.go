package aws

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
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
	p, err := NewProvider(t.Context(), ProviderConfig{
		Config: Config{Region: "us-east-1", Endpoint: emulated(t)}, Cluster: "demo", ClusterEndpoint: "https://demo.example", CABundle: "Q0E=",
		MemoryOverhead: 0.075, Isolated: true,
	}, kubernetes(t, dns))
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Cluster; c.Name != "demo" || c.Endpoint != "https://demo.example" || c.CA != "Q0E=" || c.DNS.String() != "172.20.0.10" || p.Kubernetes != "1.34" || p.IPv6 {
		t.Errorf("the cluster is %+v, Kubernetes %s, IPv6 %v", c, p.Kubernetes, p.IPv6)
	}
}

func TestWhatIsMissingAtTheStartIsSaid(t *testing.T) {
	url := emulated(t)
	for want, c := range map[string]ProviderConfig{
		"--cluster-name: required with --provider aws":                                                {},
		"--vm-memory-overhead-percent: must be a share from 0 to 1, such as 0.075, not 7.5":           {Cluster: "demo", MemoryOverhead: 7.5},
		"--reserved-enis: must not be negative, not -1":                                               {Cluster: "demo", ReservedENIs: -1},
		"--cluster-ca-bundle: is not base64":                                                          {Cluster: "demo", CABundle: "?"},
		"asking EKS for cluster other; set --cluster-endpoint, or allow eks:DescribeCluster":          {Cluster: "other", Config: Config{Region: "us-east-1", Endpoint: url}},
		"--enable-zonal-shift: EKS does not tell the ARN of cluster other; allow eks:DescribeCluster": {Cluster: "other", ClusterEndpoint: "https://demo.example", ZonalShift: true, Config: Config{Region: "us-east-1", Endpoint: url}},
		"--aws-region: \"Ireland\" is not a region, such as eu-west-1":                                {Cluster: "demo", Config: Config{Region: "Ireland"}},
	} {
		if _, err := NewProvider(t.Context(), c, kubernetes(t)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("answered %v, want %s", err, want)
		}
	}
}
