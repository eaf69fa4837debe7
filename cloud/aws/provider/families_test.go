package provider

import (
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
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
