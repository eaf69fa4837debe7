package provider

import (
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// template is the last launch template that was made, as text.
func (r *rig) template() string {
	r.t.Helper()
	last := ""
	for _, call := range r.recorded() {
		if strings.HasPrefix(call, "CreateLaunchTemplate ") {
			last = call
		}
	}
	return last
}

func TestAnImageOfAnOlderBottlerocketIsToldWhichDirectoriesToBind(t *testing.T) {
	for version, dirs := range map[string]bool{"1.45.0": true, "1.46.0": false} {
		r := newRig(t)
		r.cloud.EC2.AddImage(ec2test.Image{ImageId: "ami-0123456789", Name: "bottlerocket-aws-k8s-1.35-x86_64-v" + version + "-431fe75a"})
		r.cloud.SetParameter("/aws/service/bottlerocket/aws-k8s-1.35/x86_64/"+version+"/image_id", "ami-0123456789")
		p := r.provider()
		r.resolved(p, func(c *awsv1.EC2NodeClass) {
			discovering(c)
			c.Spec.AMISelectorTerms = []ec2class.AMISelectorTerm{{Alias: "bottlerocket@v" + version}}
			c.Spec.InstanceStorePolicy = new(ec2class.InstanceStorePolicyRAID0)
		})
		_, err := p.Launch(t.Context(), r.request(p, "claim", onDemand))
		r.must(err)
		if text := r.template(); strings.Contains(text, "--dirs") != dirs || !strings.Contains(text, "ephemeral-storage") {
			t.Errorf("%s: %s", version, text)
		}
	}
}

// The first card of a p6-b300 is for the primary interface alone. A public address is for machines
// with one interface.
func TestFabricAdaptersAreWhereTheTypeHasThem(t *testing.T) {
	for _, tt := range []struct {
		typ           string
		public        bool
		fabric, cards int64 // of which none has two interfaces
	}{
		{"c5n.18xlarge", false, 1, 1},
		{"p5.48xlarge", false, 32, 32},
		{"p6-b300.48xlarge", false, 16, 17},
		{"c5n.18xlarge", true, 1, 1},
		{"p5.48xlarge", true, 1, 1},
		{"p6-b300.48xlarge", true, 0, 1},
	} {
		r := newRig(t, tt.typ)
		p := r.provider()
		r.resolved(p, func(c *awsv1.EC2NodeClass) {
			discovering(c)
			c.Spec.AssociatePublicIPAddress = &tt.public
		})
		req := r.request(p, "claim", onDemand)
		if planned := req.Choices[0].Type.Capacity[ec2class.ResourceEFA]; planned.Value() != tt.fabric {
			t.Errorf("%+v: planned with %s adapters", tt, &planned)
		}
		req.Requests = corev1.ResourceList{ec2class.ResourceEFA: resource.MustParse("1")}
		if _, err := p.Launch(t.Context(), req); err != nil {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		list, _, _ := r.cloud.EC2.Instances()
		if cards := int64(strings.Count(r.template(), "DeviceIndex:")); list[0].Fabric != tt.fabric || cards != tt.cards {
			t.Errorf("%+v: it has %d adapters on %d cards", tt, list[0].Fabric, cards)
		}
	}
}

// EC2 gives an interface IPv6 addresses or prefixes of them, not both.
func TestAMachineOfAClusterWithIPv6HasAnAddressAndNoPrefix(t *testing.T) {
	r := newRig(t, "m5.large", "t2.large")
	config := r.config(r.once())
	config.IPv6 = true
	p := New(config)
	r.must(p.Refresh(t.Context()))
	r.resolved(p, func(c *awsv1.EC2NodeClass) {
		discovering(c)
		c.Spec.IPPrefixCount = new(int32(1))
	})
	got, err := p.Launch(t.Context(), r.request(p, "claim", func(catalog.Choice) bool { return true }))
	r.must(err)
	if pods := got.Capacity[corev1.ResourcePods]; got.Type != "m5.large" || pods.Value() != 110 {
		t.Errorf("launched %s for %s pods", got.Type, &pods)
	}
	for text, want := range map[string]bool{"Ipv6AddressCount:1": true, "PrimaryIpv6:true": true, "PrefixCount": false, "maxPods: 110": true} {
		if strings.Contains(r.template(), text) != want {
			t.Errorf("%s is there: %v, in %s", text, !want, r.template())
		}
	}
}
