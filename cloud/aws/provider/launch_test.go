package provider

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
	"github.com/millwright-dev/millwright/cloud/aws/fleet"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// request asks for one of the choices of some capacity types, or any.
func (r *rig) request(p *Provider, claim string, keep func(catalog.Choice) bool) cloud.LaunchRequest {
	r.t.Helper()
	types, err := p.InstanceTypes(r.t.Context(), classRef)
	r.must(err)
	var choices []catalog.Choice
	for _, c := range catalog.Rank(types, nil, nil, nil) {
		if keep(c) {
			choices = append(choices, c)
		}
	}
	return cloud.LaunchRequest{
		Token: "uid-of-" + claim, Claim: claim, Pool: "pool", Class: classRef, Choices: choices,
		Labels: map[string]string{"karpenter.sh/nodepool": "pool", "team": "x", corev1.LabelInstanceTypeStable: "m5.large"},
		Taints: []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}},
	}
}

func onDemand(c catalog.Choice) bool { return c.Offering.CapacityType == catalog.OnDemand }

func (r *rig) machines() int {
	r.t.Helper()
	list, err := r.provider().List(r.t.Context())
	r.must(err)
	return len(list)
}

// A crash after CreateFleet, with other prices and choices when the process is back, and EC2
// not showing the machine yet: there is one machine all the same.
func TestALaunchThatWasCutOffIsFoundAgainWhateverHasChanged(t *testing.T) {
	const lag = 30 * time.Second
	r := newRig(t)
	r.cloud.EC2.SetDelays(ec2test.Delays{Boot: boot, Shutdown: shutdown, Lag: lag})
	p := r.provider()
	req := r.request(p, "claim", onDemand)
	r.next("CreateFleet", 1, loses)
	if _, err := p.Launch(t.Context(), req); err == nil {
		t.Fatal("the reply was not lost")
	}
	p = r.provider()
	req.Choices = req.Choices[1:]
	var wait *cloud.ThrottledError
	for waited := time.Duration(0); ; waited += lookAgain {
		got, err := p.Launch(t.Context(), req)
		if err == nil {
			if waited != lag {
				t.Errorf("found after %v, want %v", waited, lag)
			}
			if got.Token != req.Token {
				t.Errorf("found %+v", got)
			}
			break
		}
		if !errors.As(err, &wait) || wait.RetryAfter != lookAgain {
			t.Fatalf("answered %v", err)
		}
		r.clock.Step(lookAgain)
	}
	if n := r.machines(); n != 1 {
		t.Errorf("there are %d machines", n)
	}
}

// The same process repeats a request as it was, so that EC2 gives the first answer.
func TestALaunchWhoseReplyWasLostIsRepeatedAsItWas(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	req := r.request(p, "claim", onDemand)
	r.next("CreateFleet", 1, loses)
	if _, err := p.Launch(t.Context(), req); err == nil {
		t.Fatal("the reply was not lost")
	}
	first := req.Choices[0]
	req.Choices = req.Choices[1:]
	got, err := p.Launch(t.Context(), req)
	if err != nil || got.Type != first.Type.Name || r.machines() != 1 {
		t.Errorf("launched %+v, error %v, %d machines", got, err, r.machines())
	}
}

// A refusal whose code has no meaning of its own is an answer all the same: the next request goes by
// what is wanted then.
func TestALaunchThatWasRefusedIsNotRepeatedAsItWas(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	req := r.request(p, "claim", onDemand)
	r.next("CreateFleet", 1, fails(http.StatusBadRequest, "InvalidBlockDeviceMapping", "Volume of size 20GB is smaller than snapshot 'snap-1', expect size >= 30GB"))
	var refused *cloud.RefusedError
	if _, err := p.Launch(t.Context(), req); !errors.As(err, &refused) {
		t.Fatalf("answered %v", err)
	}
	req.Choices = req.Choices[1:]
	if got, err := p.Launch(t.Context(), req); err != nil || got.Type != req.Choices[0].Type.Name || r.machines() != 1 {
		t.Errorf("launched %+v, error %v, %d machines", got, err, r.machines())
	}
}

// A predecessor's attempt failed: its token is burnt, and after a while the next is begun.
func TestATokenOfAnAttemptThatFailedIsNotWaitedForForEver(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	req := r.request(p, "claim", onDemand)
	only := req
	only.Choices = req.Choices[:1]
	r.sellOut(only.Choices[0].Key())
	var insufficient *cloud.InsufficientCapacityError
	if _, err := p.Launch(t.Context(), only); !errors.As(err, &insufficient) {
		t.Fatalf("answered %v", err)
	}
	p, req.Choices = r.provider(), req.Choices[1:]
	if _, err := p.Launch(t.Context(), req); err == nil {
		t.Fatal("launched at once, although a machine might have appeared")
	}
	r.clock.Step(fleet.Doubt)
	if _, err := p.Launch(t.Context(), req); err != nil || r.machines() != 1 {
		t.Errorf("answered %v, %d machines", err, r.machines())
	}
}

func TestALaunchTemplateThatWasDeletedIsMadeAnew(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	req := r.request(p, "a", onDemand)
	_, err := p.Launch(t.Context(), req)
	r.must(err)
	names, err := p.templateNames(t.Context(), "default")
	r.must(err)
	for _, name := range names {
		r.must(p.AWS.DeleteTemplate(t.Context(), name))
	}
	req.Token, req.Claim = "uid-of-b", "b"
	if _, err := p.Launch(t.Context(), req); err != nil || len(names) == 0 {
		t.Errorf("%d templates, answered %v", len(names), err)
	}
}

func TestTemplatesAreSharedAndDeletedWhenNothingUsesThem(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	for _, claim := range []string{"a", "b", "c"} {
		_, err := p.Launch(t.Context(), r.request(p, claim, func(c catalog.Choice) bool { return onDemand(c) && c.Type.Name == "m5.large" }))
		r.must(err)
	}
	if got := r.calls["CreateLaunchTemplate"]; got != 1 {
		t.Errorf("%d templates were made for three equal machines", got)
	}
	left := func() int {
		names, err := p.templateNames(t.Context(), "default")
		r.must(err)
		return len(names)
	}
	r.must(p.sweepTemplates(t.Context()))
	r.clock.Step(unused)
	r.must(p.sweepTemplates(t.Context()))
	if left() != 1 {
		t.Error("a template was deleted within the hour")
	}
	r.clock.Step(sweepEvery)
	r.must(p.sweepTemplates(t.Context()))
	if left() != 0 {
		t.Error("a template is left that nothing uses")
	}
}

func TestWhatEC2CouldNotDeliverIsUnavailableForAWhile(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	req := r.request(p, "claim", onDemand)
	key := req.Choices[0].Key()
	available := func() bool {
		types, err := p.InstanceTypes(t.Context(), classRef)
		r.must(err)
		for _, typ := range types {
			if o, ok := typ.Offering(key.Zone, key.CapacityType); ok && typ.Name == key.Type {
				return o.Available
			}
		}
		t.Fatalf("%v is not listed any more", key)
		return false
	}
	r.sellOut(key)
	_, err := p.Launch(t.Context(), req)
	r.must(err)
	if available() {
		t.Error("sold out and available")
	}
	r.clock.Step(shortest)
	if !available() {
		t.Error("still unavailable")
	}
	req.Token = "again"
	_, err = p.Launch(t.Context(), req)
	r.must(err)
	r.clock.Step(shortest)
	if available() {
		t.Error("sold out again, and not for longer")
	}
}

func TestAMachineCarriesTheTagsThatPoliciesAndKarpenterKnow(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	r.resolved(p, discovering)
	got, err := p.Launch(t.Context(), r.request(p, "claim", onDemand))
	r.must(err)
	id, err := idOf(got.ProviderID)
	r.must(err)
	i, err := p.AWS.Instance(t.Context(), id)
	r.must(err)
	for key, want := range map[string]string{
		"kubernetes.io/cluster/demo": "owned", "eks:eks-cluster-name": "demo", "karpenter.sh/nodepool": "pool", "karpenter.sh/nodeclaim": "claim",
		"karpenter.k8s.aws/ec2nodeclass": "default", "Name": "claim", TokenTag: "uid-of-claim",
		HashTag: got.Annotations[ec2class.AnnotationEC2NodeClassHashVersion] + "/" + got.Annotations[ec2class.AnnotationEC2NodeClassHash],
	} {
		if i.Tags[key] != want {
			t.Errorf("tag %s is %q, want %q", key, i.Tags[key], want)
		}
	}
	if r.calls["CreateTags"] != 0 {
		t.Error("tags were added afterwards")
	}
}

// A machine that Karpenter launched has no token; it is listed all the same, so that no claim
// counts as being without its machine.
func TestMachinesOfKarpenterAreListed(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	got, err := p.Launch(t.Context(), r.request(p, "claim", onDemand))
	r.must(err)
	id, _ := idOf(got.ProviderID)
	r.must(p.AWS.TagInstance(t.Context(), id, map[string]string{TokenTag: "", "karpenter.sh/nodeclaim": "theirs"}))
	list, err := p.List(t.Context())
	r.must(err)
	if len(list) != 1 || list[0].Claim != "theirs" || list[0].Token != "" {
		t.Errorf("listed %+v", list)
	}
}

// Karpenter names claim and Node on a machine once it has registered, one machine a second.
// What it has not come to is made up for, and nothing is written twice.
func TestTagsThatKarpenterHasNotComeToAreAdded(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	got, err := p.Launch(t.Context(), r.request(p, "claim", onDemand))
	r.must(err)
	id, _ := idOf(got.ProviderID)
	r.cloud.EC2.Untag(id, TokenTag, ec2class.NodeClaimTagKey, ec2class.NameTagKey)
	for range 2 {
		list, err := p.List(t.Context())
		r.must(err)
		annotations, err := p.Mark(t.Context(), got.ProviderID, "theirs", "node-1")
		r.must(err)
		if annotations[ec2class.AnnotationInstanceTagged] != "true" || len(list) != 1 {
			t.Errorf("annotations %v, machines %v", annotations, list)
		}
	}
	i, err := p.AWS.Instance(t.Context(), id)
	r.must(err)
	if i.Tags[ec2class.NodeClaimTagKey] != "theirs" || i.Tags[ec2class.NameTagKey] != "node-1" {
		t.Errorf("the tags are %v", i.Tags)
	}
	if n := r.calls["CreateTags"]; n != 1 {
		t.Errorf("%d calls of CreateTags, want 1", n)
	}
	if _, err := p.Mark(t.Context(), providerID("us-east-1a", "i-0"), "theirs", "node-1"); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("a machine that is not there: %v", err)
	}
}

func TestTheUserDataJoinTheClusterAndKeepTemplatesEqual(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	req := r.request(p, "claim", func(c catalog.Choice) bool { return c.Type.Name == "m5.large" })
	class := readyClass()
	l := &launch{Provider: p, attempt: &attempt{}, req: req, class: class}
	content, err := l.content(req.Choices[0], nil)
	r.must(err)
	text, err := base64.StdEncoding.DecodeString(content.UserData)
	r.must(err)
	for _, want := range []string{"apiServerEndpoint: https://demo.example", "maxPods: 29", "karpenter.sh/unregistered", "karpenter.sh/capacity-type=spot", "team=x", "karpenter.sh/do-not-sync-taints=true"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "instance-type") {
		t.Errorf("the instance type makes templates differ:\n%s", text)
	}
}

func TestClassesThatAreNotReadyLaunchNothingAndKeepTheirMachines(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*awsv1.EC2NodeClass)
		want    string
		pending bool
	}{
		"no status":       {change: func(c *awsv1.EC2NodeClass) { c.Status.Conditions = nil }, want: "its status is not worked out yet", pending: true},
		"an earlier spec": {change: func(c *awsv1.EC2NodeClass) { c.Generation = 2 }, want: "its status is of an earlier spec", pending: true},
		"says why": {change: func(c *awsv1.EC2NodeClass) {
			c.Status.Conditions[0].Status, c.Status.Conditions[0].Message = "False", "no subnets"
		}, want: "no subnets"},
		"says why of an earlier spec": {change: func(c *awsv1.EC2NodeClass) {
			c.Generation, c.Status.Conditions[0].Status, c.Status.Conditions[0].Message = 2, "False", "no subnets"
		}, want: "its status is of an earlier spec", pending: true},
		"does not know": {change: func(c *awsv1.EC2NodeClass) {
			c.Status.Conditions[0].Status, c.Status.Conditions[0].Message = "Unknown", "EC2 does not answer"
		}, want: "EC2 does not answer", pending: true},
		"a kubelet quantity": {change: func(c *awsv1.EC2NodeClass) {
			c.Spec.Kubelet = &ec2class.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "x"}}
		}, want: `spec.kubelet.kubeReserved.cpu: "x" is no quantity, and an expression only with the feature gate NodeClassCEL`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p := r.provider()
			launched, err := p.Launch(t.Context(), r.request(p, "claim", onDemand))
			r.must(err)
			class := &awsv1.EC2NodeClass{}
			r.must(r.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, class))
			tt.change(class)
			r.must(r.kube.Update(t.Context(), class))
			var notReady *cloud.ClassNotReadyError
			if _, err := p.InstanceTypes(t.Context(), classRef); !errors.As(err, &notReady) || notReady.Reason != tt.want || notReady.Pending != tt.pending {
				t.Errorf("InstanceTypes answered %+v, want %s, pending: %v", err, tt.want, tt.pending)
			}
			if got, err := p.Get(t.Context(), launched.ProviderID); err != nil || got.Claim != "claim" {
				t.Errorf("its machine is %+v, error %v", got, err)
			}
		})
	}
}

func TestRefusalsOfTheWholeCallAreTyped(t *testing.T) {
	for code, check := range map[string]func(error) bool{
		"InternalError": func(err error) bool { return cloud.Reason(err) == "InternalError" },
		"UnauthorizedOperation": func(err error) bool {
			var e *cloud.UnauthorizedError
			return errors.As(err, &e) && e.Action == "ec2:CreateFleet"
		},
		"InvalidAMIID.NotFound": func(err error) bool {
			var e *cloud.RefusedError
			return errors.As(err, &e) && e.Reason == "AMINotFound"
		},
		"MaxFleetCountExceeded": func(err error) bool {
			var e *cloud.InsufficientCapacityError
			return errors.As(err, &e) && strings.Contains(e.Cause, "MaxFleetCountExceeded") && len(e.Offerings) > 0
		},
	} {
		r := newRig(t)
		p := r.provider()
		req := r.request(p, "claim", onDemand)
		var failed []cloud.LaunchFailure
		req.Failed = func(f cloud.LaunchFailure) { failed = append(failed, f) }
		r.next("CreateFleet", 1, fails(http.StatusForbidden, code, "message"))
		if _, err := p.Launch(t.Context(), req); !check(err) {
			t.Errorf("%s: %v", code, err)
		}
		if _, err := p.Launch(t.Context(), req); err != nil || r.machines() != 1 {
			t.Errorf("%s: then %v, %d machines", code, err, r.machines())
		}
		// What is said of an offering otherwise counts as such, of none in particular.
		var want []cloud.LaunchFailure
		if code == "MaxFleetCountExceeded" {
			want = append(want, cloud.LaunchFailure{CapacityType: catalog.OnDemand, Reason: "FleetQuotaExceeded"})
		}
		if !slices.Equal(failed, want) {
			t.Errorf("%s: told of %+v, want %+v", code, failed, want)
		}
	}
}

// A profile that neither a class nor a machine names goes an hour after that was seen.
func TestInstanceProfilesAreDeletedWhenNothingUsesThem(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	p.Isolated = false
	for _, name := range []string{"current", "of-a-machine", "left"} {
		r.must(p.AWS.CreateProfile(t.Context(), name, "/karpenter/us-east-1/demo/class-uid/", nil))
		r.must(p.AWS.SetRole(t.Context(), name, "nodes"))
	}
	r.must(p.AWS.CreateProfile(t.Context(), "of-others", "/karpenter/us-east-1/other/class-uid/", nil))
	names := func(profile string) {
		class, err := p.read(t.Context(), classRef)
		r.must(err)
		class = class.DeepCopy()
		class.Status.InstanceProfile = profile
		r.must(r.kube.Update(t.Context(), class))
	}
	names("of-a-machine")
	machine, err := p.Launch(t.Context(), r.request(p, "claim", onDemand))
	r.must(err)
	names("current")
	left := func(want ...string) {
		t.Helper()
		found, err := p.AWS.Profiles(t.Context(), "/karpenter/")
		r.must(err)
		var got []string
		for _, f := range found {
			got = append(got, f.Name)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("there are %v, want %v", got, want)
		}
	}
	hour := func() {
		for range int(unused/sweepEvery) + 1 {
			r.must(p.sweepProfiles(t.Context()))
			r.clock.Step(sweepEvery)
		}
	}
	r.must(p.sweepProfiles(t.Context()))
	left("current", "left", "of-a-machine", "of-others")
	r.clock.Step(sweepEvery)
	hour()
	left("current", "of-a-machine", "of-others")
	r.must(p.Terminate(t.Context(), machine.ProviderID))
	r.clock.Step(shutdown)
	hour()
	hour()
	left("current", "of-others")
}

// The labels and taints of a pool are in the user data of its machines: what is too large for one
// is no fault of the class.
func TestUserDataThatAPoolMakesTooLargeAreRefusedInKarpentersWord(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	r.resolved(p, discovering)
	req := r.request(p, "claim", onDemand)
	for n := range 100 {
		req.Labels[fmt.Sprint("example.com/label-", n)] = strings.Repeat("x", 63)
	}
	for n := range 100 {
		req.Taints = append(req.Taints, corev1.Taint{Key: fmt.Sprint("example.com/taint-", n), Value: strings.Repeat("x", 63), Effect: corev1.TaintEffectNoSchedule})
	}
	var refused *cloud.RefusedError
	if _, err := p.Launch(t.Context(), req); !errors.As(err, &refused) || refused.Reason != "UserDataSizeLimitExceeded" {
		t.Errorf("answered %v", err)
	}
}

// Fabric adapters are attached only if pods ask for them: a machine in flight must not count as
// one that has them.
func TestAMachineHasTheFabricAdaptersThatItWasLaunchedWith(t *testing.T) {
	r := newRig(t, "c5n.18xlarge")
	p := r.provider()
	for claim, asked := range map[string]int64{"plain": 0, "fabric": 1} {
		req := r.request(p, claim, onDemand)
		if asked > 0 {
			req.Requests = corev1.ResourceList{ec2class.ResourceEFA: *resource.NewQuantity(asked, resource.DecimalSI)}
		}
		got, err := p.Launch(t.Context(), req)
		r.must(err)
		capacity, allocatable := got.Capacity[ec2class.ResourceEFA], got.Allocatable[ec2class.ResourceEFA]
		list, _, _ := r.cloud.EC2.Instances()
		i := slices.IndexFunc(list, func(i ec2test.Instance) bool { return strings.HasSuffix(got.ProviderID, i.ID) })
		if has := list[i].Fabric; has != asked || capacity.Value() != has || allocatable.Value() != has {
			t.Errorf("%s has %d adapters, and is told to have %s, allocatable %s", claim, has, &capacity, &allocatable)
		}
	}
}

func TestNitroEnclavesAreEnabledOnTypesThatSupportThem(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	r.resolved(p, func(c *awsv1.EC2NodeClass) { discovering(c); enclaves(c) })
	types, err := p.InstanceTypes(t.Context(), classRef)
	r.must(err)
	if len(types) != 1 || types[0].Name != "m5.xlarge" {
		t.Errorf("the types are %v", types)
	}
	i := r.claimed(p)
	c := r.once()
	c.Region, c.Credentials = "us-east-1", aws.AnonymousCredentials{}
	id, err := idOf(i.ProviderID)
	r.must(err)
	out, err := ec2.NewFromConfig(c).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	r.must(err)
	if o := out.Reservations[0].Instances[0].EnclaveOptions; o == nil || !aws.ToBool(o.Enabled) {
		t.Errorf("EC2 shows %v", o)
	}
}
