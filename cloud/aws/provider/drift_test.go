package provider

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/network"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// resolved changes the class and works out its status, as the controller of node classes does.
func (r *rig) resolved(p *Provider, change func(*awsv1.EC2NodeClass)) {
	r.t.Helper()
	class := &awsv1.EC2NodeClass{}
	r.must(r.kube.Get(r.t.Context(), client.ObjectKey{Name: "default"}, class))
	change(class)
	if class.Annotations == nil {
		class.Annotations = map[string]string{}
	}
	class.Annotations[ec2class.AnnotationEC2NodeClassHash], class.Annotations[ec2class.AnnotationEC2NodeClassHashVersion] = p.Hash(class), p.ClassKind().Version
	_, err := p.Resolve(r.t.Context(), class)
	r.must(err)
	for i := range class.Status.Conditions {
		if c := &class.Status.Conditions[i]; c.Type != "Ready" && c.Type != network.Condition && c.Status != metav1.ConditionTrue {
			r.t.Fatalf("%s is %s: %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	class.Status.Conditions = append(class.Status.Conditions, status.Condition{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: 1})
	r.must(r.kube.Update(r.t.Context(), class))
}

// discovering makes the class one whose status the emulator's answers fill in.
func discovering(c *awsv1.EC2NodeClass) {
	mine := map[string]string{"karpenter.sh/discovery": "demo"}
	c.Spec.Role = "nodes"
	c.Spec.SubnetSelectorTerms = []ec2class.SubnetSelectorTerm{{Tags: mine}}
	c.Spec.SecurityGroupSelectorTerms = []ec2class.SecurityGroupSelectorTerm{{Tags: mine}}
	c.Spec.AMISelectorTerms = []ec2class.AMISelectorTerm{{Alias: "al2023@latest"}}
	c.Status.Conditions = nil
}

// claimed launches a machine and writes its NodeClaim.
func (r *rig) claimed(p *Provider) cloud.Instance {
	r.t.Helper()
	i, err := p.Launch(r.t.Context(), r.request(p, "claim", onDemand))
	r.must(err)
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", Annotations: i.Annotations}}
	claim.Status.ProviderID = i.ProviderID
	r.must(r.kube.Create(r.t.Context(), claim))
	return i
}

// EC2 accepts a launch and ends the machine at once, for instance where its volumes are encrypted
// by a key that may not be used.
func TestWhyAMachineEndedIsSaid(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	i := r.claimed(p)
	r.must(r.cloud.EC2.FailInstance(i.ProviderID[strings.LastIndex(i.ProviderID, "/")+1:]))
	r.clock.Step(boot + shutdown)
	_, err := p.Get(t.Context(), i.ProviderID)
	if !errors.Is(err, cloud.ErrNotFound) || !strings.Contains(err.Error(), `EC2 says "Server.InternalError: Internal error on launch"`) {
		t.Errorf("got %v", err)
	}
}

func TestAMachineDriftsWhenItsClassChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*awsv1.EC2NodeClass)
		want   string
	}{
		"nothing changes": {func(*awsv1.EC2NodeClass) {}, ""},
		"the spec":        {func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"team": "x"} }, "NodeClassDrift"},
		"Nitro Enclaves":  {enclaves, "NodeClassDrift"},
		"the subnets": {func(c *awsv1.EC2NodeClass) {
			c.Spec.SubnetSelectorTerms = []ec2class.SubnetSelectorTerm{{ID: "subnet-public"}}
		}, "SubnetDrift"},
		"the security groups": {func(c *awsv1.EC2NodeClass) {
			c.Spec.SecurityGroupSelectorTerms = []ec2class.SecurityGroupSelectorTerm{{ID: "sg-other"}}
		}, "SecurityGroupDrift"},
		"the order of the terms": {func(c *awsv1.EC2NodeClass) {
			c.Spec.SubnetSelectorTerms = append(c.Spec.SubnetSelectorTerms, c.Spec.SubnetSelectorTerms...)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p := r.provider()
			r.resolved(p, discovering)
			i := r.claimed(p)
			r.resolved(p, func(c *awsv1.EC2NodeClass) {
				c.Status.Conditions = nil
				tt.change(c)
				if len(c.Spec.SubnetSelectorTerms) == 1 && c.Spec.SubnetSelectorTerms[0].ID != "" {
					c.Spec.SubnetSelectorTerms[0].ID = r.elsewhere(i.Zone)
				}
			})
			before := r.calls["DescribeInstances"]
			drifted := func(when string) {
				if got, err := p.Drifted(t.Context(), i.ProviderID); err != nil || got != tt.want {
					t.Errorf("%s: drifted by %q, error %v; want %q", when, got, err, tt.want)
				}
			}
			drifted("before EC2 has described it")
			r.clock.Step(boot)
			r.must(p.relist(t.Context()))
			drifted("as EC2 describes it")
			if asked := r.calls["DescribeInstances"] - before; asked != 1 {
				t.Errorf("EC2 was asked %d times, not once for a list", asked)
			}
		})
	}
}

// A machine whose security groups are not the class's is replaced.
func TestAMachineDriftsWhenItsSecurityGroupsAreChangedInEC2(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	r.resolved(p, discovering)
	i := r.claimed(p)
	id, err := idOf(i.ProviderID)
	r.must(err)
	c := r.once()
	c.Region, c.Credentials = "us-east-1", aws.AnonymousCredentials{}
	const own = "sg-0000000000000000a"
	for _, tt := range []struct {
		groups []string
		want   string
	}{{[]string{"sg-other"}, "SecurityGroupDrift"}, {[]string{"sg-other", own}, "SecurityGroupDrift"}, {[]string{own}, ""}} {
		_, err := ec2.NewFromConfig(c).ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: &id, Groups: tt.groups})
		r.must(err)
		r.clock.Step(relistAfter)
		r.must(p.relist(t.Context()))
		if got, err := p.Drifted(t.Context(), i.ProviderID); err != nil || got != tt.want {
			t.Errorf("with %v: drifted by %q, error %v; want %q", tt.groups, got, err, tt.want)
		}
	}
}

// elsewhere is a subnet of another zone.
func (r *rig) elsewhere(zone string) string {
	for _, s := range readyClass().Status.Subnets {
		if s.Zone != zone {
			return s.ID
		}
	}
	r.t.Fatal("there is one zone only")
	return ""
}

// What Karpenter launched has its tags and annotations, and no token of ours; its claim may lack
// the tag until Karpenter adds it.
func TestATakeoverFromKarpenterDriftsNothing(t *testing.T) {
	for _, tagged := range []string{"claim", ""} {
		r := newRig(t)
		p := r.provider()
		r.resolved(p, discovering)
		i := r.claimed(p)
		id, _ := idOf(i.ProviderID)
		r.must(p.AWS.TagInstance(t.Context(), id, map[string]string{TokenTag: "", ec2class.NodeClaimTagKey: tagged}))
		p = r.provider()
		r.resolved(p, func(c *awsv1.EC2NodeClass) { c.Status.Conditions = nil })
		r.must(p.relist(t.Context()))
		if got, err := p.Drifted(t.Context(), i.ProviderID); err != nil || got != "" {
			t.Errorf("claim tag %q: drifted by %q, error %v", tagged, got, err)
		}
	}
}

func TestTheMachinesAreListedAgainOnlyWhenNothingElseDid(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	r.must(p.relist(t.Context()))
	r.must(p.relist(t.Context()))
	r.clock.Step(relistAfter)
	_, err := p.List(t.Context())
	r.must(err)
	r.must(p.relist(t.Context()))
	if r.calls["DescribeInstances"] != 2 {
		t.Errorf("listed %d times", r.calls["DescribeInstances"])
	}
}

func TestTheRepairPoliciesAreKarpentersForEKS(t *testing.T) {
	got := map[string]string{}
	for _, policy := range (&Provider{}).RepairPolicies() {
		got[string(policy.Type)+"="+string(policy.Status)] = policy.Toleration.String()
	}
	want := map[string]string{
		"Ready=False": "30m0s", "Ready=Unknown": "30m0s", "AcceleratedHardwareReady=False": "10m0s", "StorageReady=False": "30m0s",
		"NetworkingReady=False": "30m0s", "KernelReady=False": "30m0s", "ContainerRuntimeReady=False": "30m0s",
	}
	if len(got) != len(want) {
		t.Errorf("there are %v", got)
	}
	for key, toleration := range want {
		if got[key] != toleration {
			t.Errorf("%s is tolerated for %q, want %s", key, got[key], toleration)
		}
	}
}

func TestBehindTheGateMachinesRebootForWhatNVIDIACallsTransient(t *testing.T) {
	p := &Provider{Config: Config{RebootForRepair: true}}
	for reason, want := range map[string]snapshot.RepairAction{"NvidiaXID46Error": snapshot.RepairReboot, "XID158": snapshot.RepairReboot, "NvidiaXID64Error": "", "XID480": "", "NvidiaDeviceCountMismatch": ""} {
		list := p.RepairPolicies()
		i := slices.IndexFunc(list, func(r cloud.RepairPolicy) bool {
			return r.Type == "AcceleratedHardwareReady" && (r.Reason == nil || r.Reason.MatchString(reason))
		})
		if list[i].Action != want || list[i].Toleration != 10*time.Minute {
			t.Errorf("%s: %v", reason, list[i])
		}
	}
}

// The class is edited between CreateFleet and the launch's record, which the same process or its
// successor writes: the machine is one of the spec that it was launched from, so it has drifted.
func TestAMachineIsOfTheSpecThatItWasLaunchedFromWhateverTheClassIsByThen(t *testing.T) {
	for name, recorded := range map[string]func(r *rig, p *Provider, req cloud.LaunchRequest) (cloud.Instance, error){
		"by the same process": func(r *rig, p *Provider, req cloud.LaunchRequest) (cloud.Instance, error) {
			return p.Launch(r.t.Context(), req)
		},
		"by its successor": func(r *rig, _ *Provider, req cloud.LaunchRequest) (cloud.Instance, error) {
			return r.provider().Launch(r.t.Context(), req)
		},
		"from the list": func(r *rig, _ *Provider, _ cloud.LaunchRequest) (cloud.Instance, error) {
			list, err := r.provider().List(r.t.Context())
			if len(list) != 1 {
				r.t.Fatalf("there are %+v", list)
			}
			return list[0], err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p := r.provider()
			r.resolved(p, discovering)
			before := &awsv1.EC2NodeClass{}
			r.must(r.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, before))
			req := r.request(p, "claim", onDemand)
			r.next("CreateFleet", 1, loses)
			if _, err := p.Launch(t.Context(), req); err == nil {
				t.Fatal("the reply was not lost")
			}
			r.resolved(p, func(c *awsv1.EC2NodeClass) {
				discovering(c)
				c.Spec.Tags, c.Spec.UserData = map[string]string{"team": "a"}, ptr.To("#!/bin/bash\n")
			})
			after := &awsv1.EC2NodeClass{}
			r.must(r.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, after))
			after.Status.InstanceProfile = "others"
			r.must(r.kube.Update(t.Context(), after))
			i, err := recorded(r, p, req)
			r.must(err)
			key := ec2class.AnnotationEC2NodeClassHash
			if got, want := i.Annotations[key], before.Annotations[key]; got != want {
				t.Errorf("it is of the spec %s, want %s", got, want)
			}
			if got, want := i.Annotations[ec2class.AnnotationInstanceProfile], before.Status.InstanceProfile; got != want {
				t.Errorf("its instance profile is %s, want %s", got, want)
			}
		})
	}
}
