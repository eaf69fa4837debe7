package offline

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/network"
	"github.com/millwright-dev/millwright/cloud/aws/observed"
	"github.com/millwright-dev/millwright/cloud/aws/price"
	"github.com/millwright-dev/millwright/engine/catalog"
)

func pointer[T any](v T) *T { return &v }

// priced are types at prices of us-east-1.
func priced() []*catalog.Type {
	offer := func(name string, price float64) *catalog.Type {
		t := &catalog.Type{Name: name}
		for _, zone := range []string{"us-east-1a", "us-east-1b"} {
			t.Offerings = append(t.Offerings, catalog.Offering{Zone: zone, CapacityType: catalog.OnDemand, Price: price, Available: true})
		}
		t.Offerings = append(t.Offerings, catalog.Offering{Zone: "us-east-1b", CapacityType: catalog.Spot, Price: price / 2, Available: true})
		return t
	}
	return []*catalog.Type{offer("m5.large", 0.096), offer("m6g.large", 0.077), offer("made-up.large", 1)}
}

func class(change func(*awsv1.EC2NodeClass)) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{EC2NodeClass: ec2class.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}
	c.Spec.AMISelectorTerms = []ec2class.AMISelectorTerm{{Alias: "al2023@latest"}}
	change(c)
	return c
}

func types(t *testing.T, change func(*awsv1.EC2NodeClass)) (map[string]*catalog.Type, []Gap) {
	t.Helper()
	c, err := New(priced())
	if err != nil {
		t.Fatal(err)
	}
	list, gaps, err := c.Types(class(change), instancetype.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*catalog.Type{}
	for _, one := range list {
		out[one.Name] = one
	}
	return out, gaps
}

func TestAFullZoneIsNotForSale(t *testing.T) {
	got, _ := types(t, func(c *awsv1.EC2NodeClass) {
		c.Annotations = map[string]string{network.FullAnnotation: "us-east-1b"}
	})
	for _, o := range got["m5.large"].Offerings {
		if full := o.Zone == "us-east-1b"; o.Available == full || (o.Lacks == network.Lacks(o.Zone)) != full {
			t.Errorf("the offering is %+v", o)
		}
	}
}

func TestWhatAClassSaysOfItsNodesCounts(t *testing.T) {
	got, gaps := types(t, func(c *awsv1.EC2NodeClass) {
		c.Spec.Kubelet = &ec2class.KubeletConfiguration{MaxPods: pointer(int32(20)), KubeReserved: map[string]string{"cpu": "500m"}}
		c.Spec.BlockDeviceMappings = []*ec2class.BlockDeviceMapping{{DeviceName: pointer("/dev/xvda"), RootVolume: true, EBS: &ec2class.BlockDevice{VolumeSize: pointer(resource.MustParse("100Gi"))}}}
		c.Annotations = map[string]string{observed.Annotation: `{"m5.large/ami-1":8000000000}`}
	})
	m5 := got["m5.large"]
	if m5 == nil || len(got) != 2 {
		t.Fatalf("the types are %v", got)
	}
	for name, want := range map[corev1.ResourceName]string{corev1.ResourcePods: "20", corev1.ResourceEphemeralStorage: "100Gi", corev1.ResourceMemory: "8000000000"} {
		if have := m5.Capacity[name]; have.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("%s is %s, want %s", name, have.String(), want)
		}
	}
	if cpu := m5.Allocatable()[corev1.ResourceCPU]; cpu.MilliValue() != 1500 {
		t.Errorf("allocatable CPU is %s", cpu.String())
	}
	if want := []Gap{NoSubnets, NoImages}; !slices.Equal(gaps, want) {
		t.Errorf("open is %v, want %v", gaps, want)
	}
}

// A class that no controller has looked at may be refused by one without the gate.
func TestExpressionsOfAClassCount(t *testing.T) {
	for ready, want := range map[metav1.ConditionStatus][]Gap{"": {NoSubnets, NoImages, Gated}, metav1.ConditionTrue: {NoSubnets, NoImages}} {
		got, gaps := types(t, func(c *awsv1.EC2NodeClass) {
			c.Later.Kubelet = map[string]json.RawMessage{"maxPods": json.RawMessage(`"vcpus * 10"`)}
			c.Spec.Kubelet = &ec2class.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "max_pods * 10"}}
			if ready != "" {
				c.Status.Conditions = []status.Condition{{Type: status.ConditionReady, Status: ready}}
			}
		})
		m5 := got["m5.large"]
		if m5 == nil {
			t.Fatalf("the types are %v", got)
		}
		if allocatable := m5.Allocatable(); allocatable.Pods().Value() != 20 || allocatable.Cpu().MilliValue() != 1800 {
			t.Errorf("m5.large has %v", allocatable)
		}
		if !slices.Equal(gaps, want) {
			t.Errorf("Ready %q: open is %v, want %v", ready, gaps, want)
		}
	}
}

func TestZonesAndImagesOfTheStatusCount(t *testing.T) {
	got, gaps := types(t, func(c *awsv1.EC2NodeClass) {
		c.Status.Subnets = []ec2class.Subnet{{ID: "subnet-1", Zone: "eu-central-1b", ZoneID: "euc1-az3"}, {ID: "subnet-2", Zone: "eu-central-1b", ZoneID: "euc1-az3"}}
		c.Status.AMIs = []ec2class.AMI{{ID: "ami-arm", Requirements: []corev1.NodeSelectorRequirement{{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"arm64"}}}}}
		c.Status.Conditions = []status.Condition{{Type: price.Condition, Status: metav1.ConditionFalse, Message: "they are old"}}
	})
	m6g := got["m6g.large"]
	if m6g == nil || len(got) != 1 || m6g.Image != "ami-arm" {
		t.Fatalf("the types are %v", got)
	}
	var bought []string
	for i := range m6g.Offerings {
		o := &m6g.Offerings[i]
		bought = append(bought, o.Zone+"/"+o.CapacityType)
		if want := map[string]float64{catalog.OnDemand: 0.077, catalog.Spot: 0.077 / 2}[o.CapacityType]; o.Price != want {
			t.Errorf("%s costs %g, want the price of the zone with the same letter, %g", bought[i], o.Price, want)
		}
	}
	if want := []string{"eu-central-1b/on-demand", "eu-central-1b/spot"}; !slices.Equal(bought, want) {
		t.Errorf("it is sold as %v, want %v", bought, want)
	}
	if region := m6g.Requirements.Get(corev1.LabelTopologyRegion); !region.Has("eu-central-1") {
		t.Errorf("the region is %v", region)
	}
	if want := []Gap{OtherRegion, "of the controller's prices: they are old"}; !slices.Equal(gaps, want) {
		t.Errorf("open is %v, want %v", gaps, want)
	}
}

func TestWhatTheTableDoesNotTellOfTypesIsAGap(t *testing.T) {
	for name, change := range map[string]func(*awsv1.EC2NodeClass){
		"nested virtualization": func(c *awsv1.EC2NodeClass) {
			c.Spec.CPUOptions = &ec2class.CPUOptions{NestedVirtualization: pointer("enabled")}
		},
		"Nitro Enclaves": func(c *awsv1.EC2NodeClass) { c.Later.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} },
	} {
		if got, gaps := types(t, change); len(got) != 2 || !slices.Contains(gaps, NoFeatures) {
			t.Errorf("%s: the types are %v, open is %v", name, got, gaps)
		}
	}
}

func TestAReservationHasAPriceAndNoRoom(t *testing.T) {
	got, gaps := types(t, func(c *awsv1.EC2NodeClass) {
		c.Spec.CapacityReservationSelectorTerms = []ec2class.CapacityReservationSelectorTerm{{ID: "cr-1"}}
		c.Status.CapacityReservations = []ec2class.CapacityReservation{
			{ID: "cr-1", InstanceType: "m5.large", AvailabilityZone: "us-east-1a"},
			{ID: "cr-2", InstanceType: "m5.large", AvailabilityZone: "us-east-1b", State: ec2class.CapacityReservationStateExpiring},
		}
	})
	o, known := got["m5.large"].Offering("us-east-1a", catalog.Reserved)
	if !known || o.Reservation != "cr-1" || !(o.Price > 0) || o.Available {
		t.Errorf("the offering is %+v, known %v", o, known)
	}
	if _, known := got["m5.large"].Offering("us-east-1b", catalog.Reserved); known {
		t.Error("a reservation that is about to end counts")
	}
	if !slices.Contains(gaps, NoReservation) {
		t.Errorf("open is %v", gaps)
	}
}

func TestARegionWithBuiltInPricesHasItsOwn(t *testing.T) {
	got, gaps := types(t, func(c *awsv1.EC2NodeClass) {
		c.Status.Subnets = []ec2class.Subnet{{ID: "subnet-1", Zone: "us-gov-west-1b", ZoneID: "usgw1-az2"}}
	})
	m5 := got["m5.large"]
	if m5 == nil {
		t.Fatalf("the types are %v", got)
	}
	for _, o := range m5.Offerings {
		if want := map[string]float64{catalog.OnDemand: 0.121, catalog.Spot: 0.121 / 2}[o.CapacityType]; o.Price != want {
			t.Errorf("%s costs %g, want %g", o.CapacityType, o.Price, want)
		}
	}
	if want := []Gap{NoImages, OwnPrices}; !slices.Equal(gaps, want) {
		t.Errorf("open is %v, want %v", gaps, want)
	}
}

func TestAClassThatCannotLaunchSaysWhy(t *testing.T) {
	c, err := New(priced())
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*awsv1.EC2NodeClass)
		want   string
	}{
		"its status": {func(c *awsv1.EC2NodeClass) {
			c.Status.Conditions = []status.Condition{{Type: status.ConditionReady, Status: metav1.ConditionFalse, Message: "no subnets"}}
		}, "no subnets"},
		"its spec": {func(c *awsv1.EC2NodeClass) {
			c.Spec.Kubelet = &ec2class.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "x"}}
		}, `spec.kubelet.kubeReserved.cpu: "x" is neither a quantity nor an expression: undeclared reference to 'x' at 1:1`},
	} {
		var notReady *cloud.ClassNotReadyError
		if _, _, err := c.Types(class(tt.change), instancetype.DefaultSettings()); !errors.As(err, &notReady) || notReady.Reason != tt.want {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}

func TestTypesThatAreNotEC2sAreNoCatalogue(t *testing.T) {
	if _, err := New(priced()[2:]); err == nil {
		t.Error("made-up types are taken for EC2's")
	}
}
