package provider

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/vpc"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/price"
	"github.com/millwright-dev/millwright/cloud/aws/userdata"
	"github.com/millwright-dev/millwright/cloud/ec2"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// rig is an emulated EC2, a cluster with one ready class, and providers on them.
type rig struct {
	t     *testing.T
	clock *clocktesting.FakeClock
	cloud *awstest.Cloud
	kube  client.Client
	web   *httptest.Server

	mu sync.Mutex
	// calls counts requests by action; fault, if set, answers a request itself when it
	// reports true.
	calls map[string]int
	fault func(action string, w http.ResponseWriter, serve func(http.ResponseWriter)) bool
}

const boot, shutdown = 10 * time.Second, 30 * time.Second

var classRef = snapshot.ClassRef{Group: Group, Kind: Kind, Name: "default"}

func newRig(t *testing.T, names ...string) *rig {
	t.Helper()
	r := &rig{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)), calls: map[string]int{}}
	network := vpc.Default("us-east-1", "demo")
	network.SecurityGroups = append(network.SecurityGroups, vpc.SecurityGroup{GroupId: "sg-other", GroupName: "other", VpcId: network.SecurityGroups[0].VpcId})
	var err error
	r.cloud, err = awstest.New(awstest.Config{Clock: r.clock, Seed: 1, Network: &network, Types: few(t, names...), Delays: ec2test.Delays{Boot: boot, Shutdown: shutdown}})
	r.must(err)
	r.web = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.web.Close)
	r.kube = kubernetes(readyClass())
	return r
}

// kinds are those in use.
var kinds = sync.OnceValue(func() *runtime.Scheme {
	out := runtime.NewScheme()
	utilruntime.Must(errors.Join(corev1.AddToScheme(out), AddToScheme(out)))
	out.AddKnownTypes(schema.GroupVersion{Group: "karpenter.sh", Version: "v1"}, &karpv1.NodeClaim{}, &karpv1.NodeClaimList{})
	return out
})

// kubernetes is an API server with some objects.
func kubernetes(objects ...client.Object) client.Client {
	tracker := clienttesting.NewObjectTracker(kinds(), serializer.NewCodecFactory(kinds()).UniversalDecoder())
	return fake.NewClientBuilder().WithScheme(kinds()).WithObjectTracker(tracker).WithObjects(objects...).Build()
}

// few are some types of the table, or those of the names. One that the table lacks is named with
// another that it is like: trn2u.48xlarge=trn1.32xlarge.
func few(t *testing.T, names ...string) []ec2.Type {
	t.Helper()
	all, err := ec2.Types()
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		names = []string{"m5.large", "m5.xlarge", "c5.large", "c5.2xlarge", "m6g.large", "r5.large", "i3.large", "m5d.large"}
	}
	var out []ec2.Type
	for _, typ := range all {
		for _, name := range names {
			if name, like, ok := strings.Cut(name, "="); typ.Name == name || ok && typ.Name == like {
				typ.Name = name
				typ.Enclaves = name == "m5.xlarge" || name == "p4d.24xlarge"
				out = append(out, typ)
			}
		}
	}
	return out
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.must(err)
	again := req.Clone(req.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	form, _ := url.ParseQuery(string(body)) // the body of a JSON protocol has its action in the header
	action := cmp.Or(form.Get("Action"), req.Header.Get("X-Amz-Target"))
	r.mu.Lock()
	r.calls[action]++
	fault := r.fault
	r.mu.Unlock()
	serve := func(w http.ResponseWriter) { r.cloud.ServeHTTP(w, again) }
	if fault != nil && fault(action, w, serve) {
		return
	}
	serve(w)
}

// next has the next n requests of an action answered by do, which may still serve them.
func (r *rig) next(action string, n int, do func(w http.ResponseWriter, serve func(http.ResponseWriter))) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = func(got string, w http.ResponseWriter, serve func(http.ResponseWriter)) bool {
		r.mu.Lock()
		due := got == action && n > 0
		if due {
			n--
		}
		r.mu.Unlock()
		if due {
			do(w, serve)
		}
		return due
	}
}

// fails answers with an error of EC2.
func fails(status int, code, message string) func(http.ResponseWriter, func(http.ResponseWriter)) {
	return func(w http.ResponseWriter, _ func(http.ResponseWriter)) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte("<Response><Errors><Error><Code>" + code + "</Code><Message>" + message + "</Message></Error></Errors><RequestID>r</RequestID></Response>"))
	}
}

// loses does what was asked and breaks the connection instead of answering.
func loses(w http.ResponseWriter, serve func(http.ResponseWriter)) {
	serve(httptest.NewRecorder())
	panic(http.ErrAbortHandler)
}

// provider makes one with nothing in memory, as after a start of the process.
func (r *rig) provider() *Provider {
	r.t.Helper()
	p := New(r.config(r.once()))
	r.must(p.Refresh(r.t.Context()))
	return p
}

// once reaches AWS without retries.
func (r *rig) once() aws.Config {
	return aws.Config{
		BaseEndpoint: &r.web.URL, HTTPClient: &http.Client{Transport: awstest.Transport{RoundTripper: r.web.Client().Transport}}, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
}

// config is a provider's, given how AWS is reached.
func (r *rig) config(c aws.Config) Config {
	r.t.Helper()
	book, err := price.NewBook("us-east-1")
	r.must(err)
	if r.clock != nil {
		book.List(map[string]float64{"m5.large": 0.096}, r.clock.Now())
	}
	c.Region = "us-east-1"
	c.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret"}, nil
	})
	return Config{
		AWS: api.New(c), Reader: r.kube, Clock: r.clock, Region: c.Region, Kubernetes: "1.35", Prices: book, Settings: instancetype.DefaultSettings(), Isolated: true,
		Cluster: userdata.Cluster{Name: "demo", Endpoint: "https://demo.example", CA: "Q0E=", ServiceCIDR: "172.20.0.0/16"},
	}
}

// readyClass is a class whose status names what the emulator has.
func readyClass() *awsv1.EC2NodeClass {
	arch := func(value string) []corev1.NodeSelectorRequirement {
		return []corev1.NodeSelectorRequirement{{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}
	}
	network := vpc.Default("us-east-1", "demo")
	c := &awsv1.EC2NodeClass{EC2NodeClass: ec2class.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class-uid", Generation: 1},
		Spec:       ec2class.EC2NodeClassSpec{Role: "node", AMISelectorTerms: []ec2class.AMISelectorTerm{{Alias: "al2023@latest"}}},
		Status: ec2class.EC2NodeClassStatus{
			InstanceProfile: "nodes",
			AMIs: []ec2class.AMI{
				{ID: "ami-00000000000000x86", Requirements: arch("amd64")}, {ID: "ami-00000000000000a64", Requirements: arch("arm64")},
			},
		},
	}}
	for _, s := range network.Subnets {
		zone := ""
		for _, z := range network.Zones {
			if z.Name == s.AvailabilityZone {
				zone = z.ID
			}
		}
		c.Status.Subnets = append(c.Status.Subnets, ec2class.Subnet{ID: s.SubnetId, Zone: s.AvailabilityZone, ZoneID: zone})
	}
	for _, g := range network.SecurityGroups {
		c.Status.SecurityGroups = append(c.Status.SecurityGroups, ec2class.SecurityGroup{ID: g.GroupId, Name: g.GroupName})
	}
	c.Status.Conditions = append(c.Status.Conditions, status.Condition{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: 1})
	return c
}

// sellOut leaves nothing of some offerings.
func (r *rig) sellOut(keys ...catalog.Key) {
	for _, k := range keys {
		r.must(r.cloud.EC2.SetCapacity(k.Type+"/"+k.Zone+"/"+k.CapacityType, 0))
	}
}
