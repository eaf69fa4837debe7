package api

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/launchtemplate"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Nothing that a launch template says is lost on the way to RunInstances.
func TestADryRunSaysAllThatALaunchTemplateSays(t *testing.T) {
	content := &launchtemplate.Content{
		Image: "ami-1", Profile: "nodes", UserData: "eA==", Monitoring: true, Tenancy: "default", Group: "pg-1", Partition: 2, Nested: "enabled", Enclaves: true,
		CapacityType: catalog.Spot, Reservation: "cr-1", Market: "capacity-block", Tags: map[string]string{"team": "x"},
		Metadata: ec2class.MetadataOptions{HTTPEndpoint: new("enabled"), HTTPProtocolIPv6: new("disabled"), HTTPPutResponseHopLimit: new(int64(1)), HTTPTokens: new("required")},
		Devices: []*ec2class.BlockDeviceMapping{{DeviceName: new("/dev/xvda"), EBS: &ec2class.BlockDevice{
			DeleteOnTermination: new(true), Encrypted: new(true), VolumeType: new("gp3"), IOPS: new(int64(3000)), Throughput: new(int64(125)), KMSKeyID: new("key"),
			SnapshotID: new("snap-1"), VolumeInitializationRate: new(int32(100)), VolumeSize: resource.NewQuantity(20<<30, resource.BinarySI),
		}}},
		Interfaces: []launchtemplate.Interface{{Slot: instancetype.Slot{Card: 1, Device: 1}, Type: "efa", Groups: []string{"sg-1"}, PublicIP: new(false), IPv4Prefixes: new(int32(1)),
			IPv6Addresses: new(int32(1)), PrimaryIPv6: true, Tracking: &ec2class.ConnectionTracking{TCPEstablishedTimeout: new(int32(60)), UDPStreamTimeout: new(int32(60)), UDPTimeout: new(int32(60))}}},
	}
	in, err := instanceInput(content)
	if err != nil {
		t.Fatal(err)
	}
	got, want := said(t, in), said(t, templateData(content))
	maps.DeleteFunc(got, func(key string, _ any) bool { _, too := want[key]; return !too })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("it says\n%v, want\n%v", got, want)
	}
}

// said is what of a call's input is not nil.
func said(t *testing.T, input any) map[string]any {
	text, err := json.Marshal(input)
	var out map[string]any
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	prune(out)
	return out
}

func prune(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			if prune(value); value == nil || value == "" {
				delete(tree, key)
			}
		}
	case []any:
		for _, value := range tree {
			prune(value)
		}
	}
}
