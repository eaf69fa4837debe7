package provider

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/awslabs/operatorpkg/status"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func pointer[T any](v T) *T { return &v }

// fields are a value for each field of an EC2NodeClass's spec, and what of it is then seen in a
// call to AWS.
var fields = map[string]struct {
	set  func(*ec2class.EC2NodeClassSpec)
	want string
}{
	"subnetSelectorTerms": {func(s *ec2class.EC2NodeClassSpec) {
		s.SubnetSelectorTerms = append(s.SubnetSelectorTerms, ec2class.SubnetSelectorTerm{ID: "subnet-9"})
	}, "DescribeSubnets subnet-9"},
	"securityGroupSelectorTerms": {func(s *ec2class.EC2NodeClassSpec) {
		s.SecurityGroupSelectorTerms = append(s.SecurityGroupSelectorTerms, ec2class.SecurityGroupSelectorTerm{Name: "extra"})
	}, "DescribeSecurityGroups extra"},
	"capacityReservationSelectorTerms": {func(s *ec2class.EC2NodeClassSpec) {
		s.CapacityReservationSelectorTerms = []ec2class.CapacityReservationSelectorTerm{{ID: "cr-9"}}
	}, "DescribeCapacityReservations cr-9"},
	"placementGroupSelector": {func(s *ec2class.EC2NodeClassSpec) {
		s.PlacementGroupSelector = &ec2class.PlacementGroupSelector{Name: pointer("near")}
	}, "DescribePlacementGroups near"},
	"amiSelectorTerms": {func(s *ec2class.EC2NodeClassSpec) { s.AMISelectorTerms[0].Alias = "bottlerocket@latest" }, "GetParameter bottlerocket"},
	"amiFamily": {func(s *ec2class.EC2NodeClassSpec) {
		s.AMIFamily, s.UserData = pointer("Custom"), pointer("by hand")
	}, "CreateLaunchTemplate by hand"},
	"associatePublicIPAddress": {func(s *ec2class.EC2NodeClassSpec) { s.AssociatePublicIPAddress = pointer(true) }, "CreateLaunchTemplate AssociatePublicIpAddress:true"},
	"ipPrefixCount":            {func(s *ec2class.EC2NodeClassSpec) { s.IPPrefixCount = pointer(int32(2)) }, "CreateLaunchTemplate Ipv4PrefixCount:2"},
	"userData":                 {func(s *ec2class.EC2NodeClassSpec) { s.UserData = pointer("#!/bin/sh\necho mine") }, "CreateLaunchTemplate echo mine"},
	"role":                     {func(s *ec2class.EC2NodeClassSpec) {}, "AddRoleToInstanceProfile nodes"},
	"instanceProfile": {func(s *ec2class.EC2NodeClassSpec) {
		s.Role, s.InstanceProfile = "", pointer("nodes")
	}, "CreateLaunchTemplate IamInstanceProfile:map[Name:nodes]"},
	"tags": {func(s *ec2class.EC2NodeClassSpec) { s.Tags = map[string]string{"team": "x"} }, "CreateFleet map[Key:team Value:x]"},
	"kubelet": {func(s *ec2class.EC2NodeClassSpec) {
		s.Kubelet = &ec2class.KubeletConfiguration{MaxPods: pointer(int32(17))}
	}, "CreateLaunchTemplate maxPods: 17"},
	"blockDeviceMappings": {func(s *ec2class.EC2NodeClassSpec) {
		s.BlockDeviceMappings = []*ec2class.BlockDeviceMapping{{DeviceName: pointer("/dev/xvda"), EBS: &ec2class.BlockDevice{VolumeSize: pointer(resource.MustParse("7Gi")), Throughput: pointer(int64(200))}}}
	}, "CreateLaunchTemplate Throughput:200 VolumeSize:7"},
	"instanceStorePolicy": {func(s *ec2class.EC2NodeClassSpec) { s.InstanceStorePolicy = pointer(ec2class.InstanceStorePolicyRAID0) }, "CreateLaunchTemplate RAID0"},
	"networkInterfaces": {func(s *ec2class.EC2NodeClassSpec) {
		s.NetworkInterfaces = []*ec2class.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: "interface"}}
	}, "CreateLaunchTemplate DeviceIndex:1"},
	"detailedMonitoring": {func(s *ec2class.EC2NodeClassSpec) { s.DetailedMonitoring = pointer(true) }, "CreateLaunchTemplate Monitoring:map[Enabled:true]"},
	"metadataOptions": {func(s *ec2class.EC2NodeClassSpec) {
		s.MetadataOptions = &ec2class.MetadataOptions{HTTPPutResponseHopLimit: pointer(int64(3))}
	}, "CreateLaunchTemplate HttpPutResponseHopLimit:3"},
	"connectionTracking": {func(s *ec2class.EC2NodeClassSpec) {
		s.ConnectionTracking = &ec2class.ConnectionTracking{UDPTimeout: pointer(int32(45))}
	}, "CreateLaunchTemplate UdpTimeout:45"},
	"context": {func(s *ec2class.EC2NodeClassSpec) { s.Context = pointer("ctx-1") }, "CreateFleet Context:ctx-1"},
	"cpuOptions": {func(s *ec2class.EC2NodeClassSpec) {
		s.CPUOptions = &ec2class.CPUOptions{NestedVirtualization: pointer("disabled")}
	}, "CreateLaunchTemplate NestedVirtualization:disabled"},
}

// calls are the calls that were made, as texts: action, and what was asked.
func (r *rig) recorded() []string {
	var out []string
	for _, c := range r.cloud.Record() {
		text := c.Action[strings.Index(c.Action, ":")+1:] + " " + fmt.Sprint(c.Input)
		if data, ok := c.Input["LaunchTemplateData"].(map[string]any); ok {
			encoded, _ := data["UserData"].(string)
			user, err := base64.StdEncoding.DecodeString(encoded)
			r.must(err)
			text += string(user)
		}
		out = append(out, text)
	}
	return out
}

// Resolving a class and launching from it tells AWS of every field of its spec.
func TestEveryFieldOfAClassReachesACall(t *testing.T) {
	spec := reflect.TypeFor[ec2class.EC2NodeClassSpec]()
	for i := range spec.NumField() {
		name, _, _ := strings.Cut(spec.Field(i).Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		f, ok := fields[name]
		if !ok {
			t.Errorf("spec.%s has no row", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p := r.provider()
			class := &ec2class.EC2NodeClass{}
			r.must(r.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, class))
			discovering(class)
			class.Status.InstanceProfile = ""
			f.set(&class.Spec)
			_, _ = p.Resolve(t.Context(), class) // some of what is selected is not there
			class.Status.Conditions = []status.Condition{{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: 1}}
			r.must(r.kube.Update(t.Context(), class))
			if types, err := p.InstanceTypes(t.Context(), classRef); err == nil && len(types) > 0 {
				_, err := p.Launch(t.Context(), r.request(p, "claim", onDemand))
				r.must(err)
			}
			action, want, _ := strings.Cut(f.want, " ")
			calls := r.recorded()
			for _, call := range calls {
				if strings.HasPrefix(call, action+" ") && strings.Contains(call, want) {
					return
				}
			}
			t.Errorf("%s of %q was not called; the calls were\n%s", action, want, strings.Join(calls, "\n"))
		})
	}
}
