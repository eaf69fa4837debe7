package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/awslabs/operatorpkg/status"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/provider"
	"github.com/millwright-dev/millwright/cloud/ec2"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// customer is one of an emulated AWS for one exercise.
type customer struct {
	*awstest.Cloud
	t    *testing.T
	url  string
	kube client.Client
	// said are the errors and lines of the log that people would see; conditions those of
	// classes, and what a claim's Launched says.
	said, conditions []string
}

// key is the customer's access key.
const key = "AKIDEXAMPLE"

func newCustomer(t *testing.T) *customer {
	t.Helper()
	types, err := ec2.Types()
	if err != nil {
		t.Fatal(err)
	}
	types = slices.DeleteFunc(slices.Clone(types), func(t ec2.Type) bool { return t.Name != "m5.large" && t.Name != "m6g.large" })
	a := &customer{t: t}
	if a.Cloud, err = awstest.New(awstest.Config{Types: types, Queues: []string{"announcements", "refused"}}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a.Cloud)
	t.Cleanup(server.Close)
	a.url = server.URL
	tracker := clienttesting.NewObjectTracker(kinds(), serializer.NewCodecFactory(kinds()).UniversalDecoder())
	a.kube = fake.NewClientBuilder().WithScheme(kinds()).WithObjectTracker(tracker).Build()
	return a
}

// kinds are those in use.
var kinds = sync.OnceValue(func() *runtime.Scheme {
	out := runtime.NewScheme()
	utilruntime.Must(errors.Join(corev1.AddToScheme(out), provider.AddToScheme(out)))
	out.AddKnownTypes(schema.GroupVersion{Group: "karpenter.sh", Version: "v1"}, &karpv1.NodeClaim{}, &karpv1.NodeClaimList{})
	return out
})

// hear takes note of an error.
func (a *customer) hear(err error) bool {
	if err != nil {
		a.said = append(a.said, err.Error())
	}
	return err == nil
}

// condition takes note of an error that becomes a condition.
func (a *customer) condition(err error) bool {
	if err != nil {
		a.conditions = append(a.conditions, err.Error())
	}
	return a.hear(err)
}

// exercise uses every part of the provider once. What is logged is heard as well.
func (a *customer) exercise(ctx context.Context) {
	ctx = log.IntoContext(ctx, funcr.New(func(_, text string) { a.said = append(a.said, text) }, funcr.Options{}))
	p, config, err := a.provider(ctx)
	if !a.hear(err) {
		return
	}
	classes := a.classes(ctx, p)
	var machines []cloud.Instance
	for _, want := range []struct{ class, capacityType string }{
		{"default", catalog.OnDemand}, {"default", catalog.Spot}, {"grouped", catalog.OnDemand}, {"reserving", catalog.Reserved},
	} {
		i, err := p.Launch(ctx, a.request(ctx, p, want.class, want.capacityType))
		if a.condition(err) {
			machines = append(machines, i)
		}
	}
	a.resolve(ctx, p, classes[0]) // with a launch template
	for _, i := range machines {
		_, err := p.Get(ctx, i.ProviderID)
		_, more := p.Attachments(ctx, i.ProviderID)
		a.hear(errors.Join(err, more))
	}
	a.marked(ctx, p, machines)
	a.announced(ctx, config, machines)
	a.restarted(ctx, p, machines)
	for _, i := range machines {
		a.hear(p.Terminate(ctx, i.ProviderID))
	}
	for _, class := range classes {
		a.hear(p.Release(ctx, class))
	}
	profile := "nodes"
	last := &awsv1.EC2NodeClass{EC2NodeClass: ec2class.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "last"}, Spec: classes[0].Spec}}
	last.Spec.Role, last.Spec.InstanceProfile = "", &profile
	a.resolve(ctx, p, last) // what was refused since shows
}

// provider is that of a process that starts.
func (a *customer) provider(ctx context.Context) (*provider.Provider, Config, error) {
	config := Config{Region: "us-east-1", Endpoint: a.url, Queue: "announcements", DeadLetterQueue: "refused", MaxAge: time.Minute, StatusEvery: time.Minute, Rights: &Rights{}}
	p, err := NewProvider(ctx, ProviderConfig{
		Config: config, Cluster: "demo", ClusterEndpoint: "https://demo.example", CABundle: "Q0E=", Settings: instancetype.DefaultSettings(), ZonalShift: true, window: time.Nanosecond,
	}, Kubernetes{REST: version(a.t), Cached: a.kube, Live: a.kube})
	return p, config, err
}

// restarted reboots, stops and starts a machine, as far as it lets itself be.
func (a *customer) restarted(ctx context.Context, p *provider.Provider, machines []cloud.Instance) {
	for _, i := range machines {
		why, err := p.Irrestartable(ctx, i.ProviderID)
		if a.hear(err) && why == "" {
			a.hear(errors.Join(p.Reboot(ctx, i.ProviderID), p.Stop(ctx, i.ProviderID), p.Start(ctx, i.ProviderID)))
		}
	}
}

// marked lists the machines, of which one does not say whose it is, as Karpenter may leave it.
func (a *customer) marked(ctx context.Context, p *provider.Provider, machines []cloud.Instance) {
	for _, i := range machines {
		a.EC2.Untag(i.ProviderID[strings.LastIndexByte(i.ProviderID, '/')+1:], ec2class.NodeClaimTagKey, ec2class.NameTagKey)
	}
	_, err := p.List(ctx)
	a.hear(err)
	for _, i := range machines {
		_, err := p.Mark(ctx, i.ProviderID, i.Claim, "node")
		a.hear(err)
	}
}

// version is an API server that tells its version.
func version(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"major":"1","minor":"35"}`)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// classes makes one that leaves a volume behind, one that launches into a placement group from
// a snapshot, and one with a capacity reservation.
func (a *customer) classes(ctx context.Context, p *provider.Provider) []*awsv1.EC2NodeClass {
	a.t.Helper()
	a.EC2.Reserved.AddGroup(reserve.Group{GroupId: "pg-1", GroupName: "near", Strategy: "cluster"})
	a.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1a", Total: 1})
	mine, group, stays, device, snapshot := map[string]string{"karpenter.sh/discovery": "demo"}, "near", false, "/dev/xvda", "snap-1"
	spec := ec2class.EC2NodeClassSpec{
		Role: "nodes", AMISelectorTerms: []ec2class.AMISelectorTerm{{Alias: "al2023@latest"}},
		SubnetSelectorTerms: []ec2class.SubnetSelectorTerm{{Tags: mine}}, SecurityGroupSelectorTerms: []ec2class.SecurityGroupSelectorTerm{{Tags: mine}},
	}
	var out []*awsv1.EC2NodeClass
	for _, name := range []string{"default", "grouped", "reserving"} {
		class := &awsv1.EC2NodeClass{EC2NodeClass: ec2class.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: spec}}
		switch name {
		case "default":
			class.Spec.BlockDeviceMappings = []*ec2class.BlockDeviceMapping{{DeviceName: &device, EBS: &ec2class.BlockDevice{DeleteOnTermination: &stays}}}
		case "grouped":
			class.Spec.BlockDeviceMappings = []*ec2class.BlockDeviceMapping{{DeviceName: &device, EBS: &ec2class.BlockDevice{SnapshotID: &snapshot}}}
			class.Spec.PlacementGroupSelector = &ec2class.PlacementGroupSelector{Name: &group}
		case "reserving":
			class.Spec.CapacityReservationSelectorTerms = []ec2class.CapacityReservationSelectorTerm{{ID: "cr-1"}}
		}
		if err := a.kube.Create(ctx, class); err != nil {
			a.t.Fatal(err)
		}
		a.resolve(ctx, p, class)
		class.Status.Conditions = append(class.Status.Conditions, status.Condition{Type: "Ready", Status: metav1.ConditionTrue})
		if err := a.kube.Update(ctx, class); err != nil {
			a.t.Fatal(err)
		}
		out = append(out, class)
	}
	return out
}

// resolve works out the status of a class, and takes note of what its conditions say.
func (a *customer) resolve(ctx context.Context, p *provider.Provider, class *awsv1.EC2NodeClass) {
	_, err := p.Resolve(ctx, class)
	a.hear(err)
	for _, c := range class.Status.Conditions {
		if c.Status == metav1.ConditionFalse {
			a.condition(errors.New(c.Type + ": " + c.Reason + ": " + c.Message))
		}
	}
}

func (a *customer) request(ctx context.Context, p *provider.Provider, class, capacityType string) cloud.LaunchRequest {
	ref := snapshot.ClassRef{Group: provider.Group, Kind: provider.Kind, Name: class}
	types, err := p.InstanceTypes(ctx, ref)
	a.hear(err)
	req := cloud.LaunchRequest{Token: "uid-" + class + capacityType, Claim: "claim-" + class + capacityType, Pool: "pool", Class: ref}
	for _, c := range catalog.Rank(types, nil, nil, nil) {
		if c.Offering.CapacityType == capacityType {
			req.Choices = append(req.Choices, c)
		}
	}
	return req
}

// announced reads the queue, and has EC2 confirm what is known of machines.
func (a *customer) announced(ctx context.Context, config Config, machines []cloud.Instance) {
	sources, err := Announcements(ctx, config)
	if !a.hear(err) {
		return
	}
	if err := a.SQS.Send("announcements", "not an event", 0); err != nil {
		a.t.Fatal(err)
	}
	messages, err := sources.Queue.Receive(ctx)
	for i := range messages {
		messages[i].Outcome = cloud.Refused
	}
	if a.hear(err) {
		a.hear(sources.Queue.Settle(ctx, messages))
	}
	_, err = sources.Inspector.List(ctx)
	a.hear(err)
	for _, i := range machines {
		_, err = sources.Inspector.Confirm(ctx, []cloud.Event{{ID: "1", Kind: interruption.Spot, Machine: i.ProviderID}})
		a.hear(err)
	}
}
