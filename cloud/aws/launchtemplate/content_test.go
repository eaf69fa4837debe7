package launchtemplate

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
)

func pointer[T any](v T) *T { return &v }

func class(change ...func(*awsv1.EC2NodeClass)) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{EC2NodeClass: ec2class.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec:       ec2class.EC2NodeClassSpec{AMIFamily: pointer("AL2023"), Role: "node", Tags: map[string]string{"team": "x"}},
		Status:     ec2class.EC2NodeClassStatus{InstanceProfile: "profile", SecurityGroups: []ec2class.SecurityGroup{{ID: "sg-1"}, {ID: "sg-2"}}},
	}}
	for _, f := range change {
		f(c)
	}
	return c
}

func machine(change ...func(*Machine)) Machine {
	m := Machine{Pool: "pool", CapacityType: "spot", Image: "ami-1", UserData: "hello", Tenancy: "default"}
	for _, f := range change {
		f(&m)
	}
	return m
}

// Each field of the class that is about machines reaches the template, and gives it another
// name.
func TestEveryFieldReachesTheTemplate(t *testing.T) {
	plain := New(class(), machine(), "demo")
	for _, tt := range []struct {
		name    string
		class   func(*awsv1.EC2NodeClass)
		machine func(*Machine)
		want    string // part of the content's JSON
	}{
		{name: "image", machine: func(m *Machine) { m.Image = "ami-2" }, want: `"Image":"ami-2"`},
		{name: "userData", machine: func(m *Machine) { m.UserData = "bye" }, want: `"UserData":"Ynll"`},
		{name: "instanceProfile", class: func(c *awsv1.EC2NodeClass) { c.Status.InstanceProfile = "other" }, want: `"Profile":"other"`},
		{name: "blockDeviceMappings", class: func(c *awsv1.EC2NodeClass) {
			c.Spec.BlockDeviceMappings = []*ec2class.BlockDeviceMapping{device("/dev/xvdz", "7Gi")}
		}, want: `"/dev/xvdz"`},
		{name: "detailedMonitoring", class: func(c *awsv1.EC2NodeClass) { c.Spec.DetailedMonitoring = pointer(true) }, want: `"Monitoring":true`},
		{name: "metadataOptions", class: func(c *awsv1.EC2NodeClass) {
			c.Spec.MetadataOptions = &ec2class.MetadataOptions{HTTPPutResponseHopLimit: pointer(int64(2))}
		}, want: `"httpPutResponseHopLimit":2`},
		{name: "isolated region", machine: func(m *Machine) { m.Region = "us-isob-east-1" }, want: `"Metadata":{"httpEndpoint":"enabled","httpPutResponseHopLimit":1,`},
		{name: "associatePublicIPAddress", class: func(c *awsv1.EC2NodeClass) { c.Spec.AssociatePublicIPAddress = pointer(false) }, want: `"PublicIP":false`},
		{name: "ipPrefixCount", class: func(c *awsv1.EC2NodeClass) { c.Spec.IPPrefixCount = pointer(int32(4)) }, want: `"IPv4Prefixes":4`},
		{name: "ipPrefixCount, IPv6", class: func(c *awsv1.EC2NodeClass) { c.Spec.IPPrefixCount = pointer(int32(4)) },
			machine: func(m *Machine) { m.IPv6 = true }, want: `"IPv4Prefixes":null,"IPv6Addresses":1,"PrimaryIPv6":true`},
		{name: "connectionTracking", class: func(c *awsv1.EC2NodeClass) {
			c.Spec.ConnectionTracking = &ec2class.ConnectionTracking{UDPTimeout: pointer(int32(45))}
		}, want: `"Tracking":{"udpTimeout":45}`},
		{name: "cpuOptions", class: func(c *awsv1.EC2NodeClass) {
			c.Spec.CPUOptions = &ec2class.CPUOptions{NestedVirtualization: pointer("enabled")}
		}, want: `"Nested":"enabled"`},
		{name: "enclaveOptions", class: func(c *awsv1.EC2NodeClass) { c.Later.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} }, want: `"Enclaves":true`},
		{name: "tags", class: func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"team": "y"} }, want: `"team":"y"`},
		{name: "security groups", class: func(c *awsv1.EC2NodeClass) { c.Status.SecurityGroups = []ec2class.SecurityGroup{{ID: "sg-3"}} }, want: `"Groups":["sg-3"]`},
		{name: "tenancy", machine: func(m *Machine) { m.Tenancy = "dedicated" }, want: `"Tenancy":"dedicated"`},
		{name: "placement group", machine: func(m *Machine) { m.Group, m.Partition = "pg-1", 3 }, want: `"Group":"pg-1","Partition":3`},
		{name: "capacity type", machine: func(m *Machine) { m.CapacityType = "on-demand" }, want: `"CapacityType":"on-demand"`},
		{name: "pool", machine: func(m *Machine) { m.Pool = "other" }, want: `"karpenter.sh/nodepool":"other"`},
		{name: "capacity block", machine: func(m *Machine) {
			m.CapacityType, m.Reservation = "reserved", &ec2class.CapacityReservation{ID: "cr-1", ReservationType: "capacity-block"}
		}, want: `"Reservation":"cr-1","Market":"capacity-block"`},
		{name: "interruptible reservation", machine: func(m *Machine) {
			m.CapacityType, m.Reservation = "reserved", &ec2class.CapacityReservation{ID: "cr-1", Interruptible: true}
		}, want: `"Reservation":"cr-1","Market":"interruptible-capacity-reservation"`},
		{name: "fabric adapters", machine: func(m *Machine) { m.Fabric = []instancetype.Slot{{}, {Card: 1, Device: 1}} }, want: `{"Card":1,"Device":1,"Type":"efa"`},
		{name: "networkInterfaces", class: func(c *awsv1.EC2NodeClass) {
			c.Spec.AssociatePublicIPAddress = pointer(true)
			c.Spec.NetworkInterfaces = []*ec2class.NetworkInterface{{InterfaceType: "interface"}, {NetworkCardIndex: 1, DeviceIndex: 2, InterfaceType: "efa-only"}}
		}, want: `{"Card":1,"Device":2,"Type":"efa-only","Groups":["sg-1","sg-2"],"PublicIP":null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, m := class(), machine()
			if tt.class != nil {
				tt.class(c)
			}
			if tt.machine != nil {
				tt.machine(&m)
			}
			got := New(c, m, "demo")
			text, err := json.Marshal(got)
			if err != nil || !strings.Contains(string(text), tt.want) {
				t.Errorf("%s is not in %s", tt.want, text)
			}
			if got.Name() == plain.Name() {
				t.Error("the name is that of another content")
			}
			if again := New(c, m, "demo"); again.Name() != got.Name() {
				t.Errorf("the name is %s, then %s", got.Name(), again.Name())
			}
		})
	}
}

func TestThePlainTemplate(t *testing.T) {
	got := New(class(), machine(), "demo")
	want := map[string]string{
		"team": "x", "kubernetes.io/cluster/demo": "owned", "karpenter.sh/nodepool": "pool", "eks:eks-cluster-name": "demo", "karpenter.k8s.aws/ec2nodeclass": "default",
	}
	if !reflect.DeepEqual(got.Tags, want) {
		t.Errorf("tags are %v, want %v", got.Tags, want)
	}
	if m := got.Metadata; *m.HTTPEndpoint != "enabled" || *m.HTTPProtocolIPv6 != "disabled" || *m.HTTPPutResponseHopLimit != 1 || *m.HTTPTokens != "required" {
		t.Errorf("metadata options are %+v", m)
	}
	if !strings.HasPrefix(got.Name(), "karpenter.k8s.aws/") || len(got.Name()) > 128 {
		t.Errorf("the name is %s", got.Name())
	}
}

func TestFamiliesHaveTheirOwnDevices(t *testing.T) {
	for family, want := range map[string]string{
		"AL2": "/dev/xvda 20Gi", "AL2023": "/dev/xvda 20Gi", "Bottlerocket": "/dev/xvda 4Gi /dev/xvdb 20Gi", "Windows2022": "/dev/sda1 50Gi", "Custom": "",
	} {
		var got []string
		for _, d := range New(class(func(c *awsv1.EC2NodeClass) { c.Spec.AMIFamily = &family }), machine(), "demo").Devices {
			got = append(got, *d.DeviceName+" "+d.EBS.VolumeSize.String())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s has %s, want %s", family, s, want)
		}
	}
}

func TestTagsOfTheControllerCannotBeTheClasses(t *testing.T) {
	for key, bad := range map[string]bool{
		"team": false, "karpenter.sh/nodepool": true, "karpenter.sh/nodeclaim": true, "eks:eks-cluster-name": true,
		"kubernetes.io/cluster/other": true, "karpenter.k8s.aws/ec2nodeclass": true,
	} {
		err := CheckTags(class(func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{key: "v"} }))
		if (err != nil) != bad {
			t.Errorf("%s: %v", key, err)
		}
	}
}
