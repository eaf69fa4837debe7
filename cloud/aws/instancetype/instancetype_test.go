package instancetype

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/cloud/ec2"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

func table(t testing.TB) map[string]Info {
	t.Helper()
	types, err := ec2.Types()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Info{}
	for i := range types {
		out[types[i].Name] = FromTable(&types[i])
	}
	return out
}

func supply() *Supply {
	return &Supply{
		Zones: []Zone{{"eu-west-1a", "euw1-az1"}, {"eu-west-1b", "euw1-az3"}},
		Price: func(_, _, capacityType string) (float64, bool) {
			return map[string]float64{catalog.OnDemand: 0.1, catalog.Spot: 0.04}[capacityType], true
		},
	}
}

func class(change ...func(*Class)) *Class {
	c := &Class{Region: "eu-west-1", Family: ec2class.AMIFamilyAL2023, Settings: DefaultSettings()}
	for _, f := range change {
		f(c)
	}
	return c
}

func number(n int32) *int32 { return &n }

func device(name, size string, root bool) *ec2class.BlockDeviceMapping {
	q := resource.MustParse(size)
	return &ec2class.BlockDeviceMapping{DeviceName: &name, RootVolume: root, EBS: &ec2class.BlockDevice{VolumeSize: &q}}
}

func printed(list corev1.ResourceList, names ...corev1.ResourceName) string {
	var out []string
	for _, name := range names {
		q := list[name]
		out = append(out, q.String())
	}
	return strings.Join(out, " ")
}

// The first rows are figures that Karpenter's documentation publishes; the others follow
// from the same formulas by hand.
func TestAllocatableFollowsTheClass(t *testing.T) {
	infos := table(t)
	kubelet := func(k ec2class.KubeletConfiguration) func(*Class) { return func(c *Class) { c.Kubelet = &k } }
	family := func(name string) func(*Class) { return func(c *Class) { c.Family = name } }
	for _, tt := range []struct {
		name, typ string
		class     *Class
		want      string // cpu memory pods ephemeral-storage
	}{
		{"defaults", "m5.large", class(), "1930m 6903Mi 29 17Gi"},
		{"defaults, large", "r5a.12xlarge", class(), "47810m 360795Mi 234 17Gi"},
		{"maxPods leaves the reserve as it is", "m5.large", class(kubelet(ec2class.KubeletConfiguration{MaxPods: number(110)})), "1930m 6903Mi 110 17Gi"},
		{"Bottlerocket's reserve follows maxPods", "m5.large", class(family("Bottlerocket"), kubelet(ec2class.KubeletConfiguration{MaxPods: number(110)})), "1930m 6012Mi 110 17Gi"},
		{"podsPerCore caps", "m5.large", class(kubelet(ec2class.KubeletConfiguration{PodsPerCore: number(5)})), "1930m 6903Mi 10 17Gi"},
		{"Bottlerocket is told the pods of all cores", "m5.large", class(family("Bottlerocket"), kubelet(ec2class.KubeletConfiguration{PodsPerCore: number(5)})), "1930m 7112Mi 10 17Gi"},
		{"Windows has 110 pods, and evicts earlier", "m5.large", class(family("Windows2022")), "1930m 5612Mi 110 44Gi"},
		{"evictionHard of Windows", "m5.large", class(family("Windows2022"), kubelet(ec2class.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "100Mi"}})), "1930m 6012Mi 110 44Gi"},
		{"reserved interfaces", "m5.large", class(func(c *Class) { c.ReservedENIs = 1 }), "1930m 6903Mi 20 17Gi"},
		{"all interfaces reserved", "m5.large", class(func(c *Class) { c.ReservedENIs = 3 }), "1930m 6903Mi 0 17Gi"},
		{"an EFA-only interface", "m5.large", class(func(c *Class) {
			c.Interfaces = []*ec2class.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: "efa-only"}}
		}), ""},
		{"kubeReserved by key", "m5.large", class(kubelet(ec2class.KubeletConfiguration{KubeReserved: map[string]string{"memory": "1Gi"}})), "1930m 6453Mi 29 17Gi"},
		{"systemReserved on top", "m5.large", class(kubelet(ec2class.KubeletConfiguration{SystemReserved: map[string]string{"cpu": "100m", "memory": "100Mi"}})), "1830m 6803Mi 29 17Gi"},
		{"evictionHard by quantity", "m5.large", class(kubelet(ec2class.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "500Mi", "nodefs.available": "1Gi"}})), "1930m 6503Mi 29 18Gi"},
		{"evictionHard switched off", "m5.large", class(kubelet(ec2class.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "100%", "nodefs.available": "100%"}})), "1930m 7003Mi 29 19Gi"},
		{"evictionSoft does not count", "m5.large", class(kubelet(ec2class.KubeletConfiguration{EvictionSoft: map[string]string{"memory.available": "2Gi"}, EvictionSoftGracePeriod: map[string]metav1.Duration{"memory.available": {Duration: time.Minute}}})), "1930m 6903Mi 29 17Gi"},
		{"the family's device", "m5.large", class(func(c *Class) {
			c.Devices = []*ec2class.BlockDeviceMapping{device("/dev/xvda", "100Gi", false)}
		}), "1930m 6903Mi 29 89Gi"},
		{"another device", "m5.large", class(func(c *Class) {
			c.Devices = []*ec2class.BlockDeviceMapping{device("/dev/xvdz", "100Gi", false)}
		}), "1930m 6903Mi 29 17Gi"},
		{"the root volume wins", "m5.large", class(func(c *Class) {
			c.Devices = []*ec2class.BlockDeviceMapping{device("/dev/xvda", "50Gi", false), device("/dev/xvdz", "100Gi", true)}
		}), "1930m 6903Mi 29 89Gi"},
		{"Bottlerocket's data are not on the volume of its system", "m5.large", class(family("Bottlerocket"), func(c *Class) {
			c.Devices = []*ec2class.BlockDeviceMapping{device("/dev/xvda", "2Gi", true), device("/dev/xvdb", "50Gi", false)}
		}), "1930m 6903Mi 29 44Gi"},
		{"a custom image's last device", "m5.large", class(family("Custom"), func(c *Class) {
			c.Devices = []*ec2class.BlockDeviceMapping{device("/dev/xvda", "50Gi", false), device("/dev/xvdz", "100Gi", false)}
		}), "1930m 6903Mi 29 89Gi"},
		{"RAID0 with an instance store", "m5d.large", class(func(c *Class) { c.RAID0 = true }), "1930m 6903Mi 29 66426258176"},
		{"RAID0 without one", "m5.large", class(func(c *Class) { c.RAID0 = true }), "1930m 6903Mi 29 17Gi"},
		{"another memory overhead", "m5.large", class(func(c *Class) { c.MemoryOverhead = 0.05 }), "1930m 7108Mi 29 17Gi"},
		{"memory that was observed", "m5.large", class(func(c *Class) {
			c.Memory = func(string) (int64, bool) { return 7800 * mib, true }
		}), "1930m 7126Mi 29 17Gi"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			info := infos[tt.typ]
			if err := tt.class.Check(nil); err != nil {
				t.Fatal(err)
			}
			got := ""
			if typ := Resolve(&info, tt.class, supply()); typ != nil {
				got = printed(typ.Allocatable(), "cpu", "memory", "pods", "ephemeral-storage")
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAcceleratorsAndInterfacesAreCapacity(t *testing.T) {
	infos := table(t)
	for _, tt := range []struct{ typ, resource, want string }{
		{"g5.12xlarge", "nvidia.com/gpu", "4"},
		{"g4ad.16xlarge", "amd.com/gpu", "4"},
		{"p5.48xlarge", "vpc.amazonaws.com/efa", "32"},
		{"inf2.48xlarge", "aws.amazon.com/neuroncore", "24"},
		{"trn1.2xlarge", "aws.amazon.com/neuron", "1"},
		{"m5.large", "vpc.amazonaws.com/pod-eni", "9"},
		{"m5.large", "nvidia.com/gpu", "0"},
		{"m5.large", "hugepages-2Mi", "0"},
	} {
		info := infos[tt.typ]
		if got := printed(Resolve(&info, class(), supply()).Capacity, corev1.ResourceName(tt.resource)); got != tt.want {
			t.Errorf("%s has %s of %s, want %s", tt.typ, got, tt.resource, tt.want)
		}
	}
	gpus := infos["g5.12xlarge"]
	devices := Resolve(&gpus, class(), supply()).Devices
	if len(devices) != 4 || devices[3].Driver != "gpu.nvidia.com" || devices[3].Name != "gpu-3" || *devices[3].Attributes["type"].StringValue != "gpu" {
		t.Errorf("g5.12xlarge has the devices %v", devices)
	}
	if got := devices[0].Device.Capacity["memory"].Value; got.String() != "23028Mi" {
		t.Errorf("a GPU has %s", got.String())
	}
	if a := devices[0].Attributes; *a["productName"].StringValue != "NVIDIA A10G" || *a["cudaComputeCapability"].VersionValue != "8.6.0" {
		t.Errorf("a GPU has the attributes %v", a)
	}
	old := gpus
	old.Name = "p3.2xlarge"
	memory := old.gpus()[0].Capacity["memory"].Value
	if a := old.gpus()[0].Attributes; len(a) != 1 || memory.String() != "22888Mi" {
		t.Errorf("a GPU of a family that is not in the table has the attributes %v and %s", a, memory.String())
	}
	radeon := infos["g4ad.16xlarge"]
	if got := Resolve(&radeon, class(), supply()).Devices; got != nil {
		t.Errorf("NVIDIA's driver has AMD's GPUs: %v", got)
	}
	info := infos["m5.large"]
	windows := class(func(c *Class) { c.Family = ec2class.AMIFamilyWindows2022 })
	if got := printed(Resolve(&info, windows, supply()).Capacity, ec2class.ResourcePrivateIPv4Address); got != "9" {
		t.Errorf("a Windows node has %s addresses for pods, want 9", got)
	}
	fabric := infos["p5.48xlarge"]
	two := class(func(c *Class) {
		c.Interfaces = []*ec2class.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: "efa-only"}, {NetworkCardIndex: 1, InterfaceType: "efa-only"}}
	})
	if got := printed(Resolve(&fabric, two, supply()).Capacity, "vpc.amazonaws.com/efa", "pods"); got != "2 51" {
		t.Errorf("with two EFA-only interfaces there are efa and pods %s, want 2 51", got)
	}
}

// A prefix has addresses for any number of pods, so the kubelet's own default is the least where more
// pods cost nothing: Bottlerocket keeps memory for each, and only the user knows of Custom.
func TestPodsWithIPv6AddressesAreNotBoundByTheInterfaces(t *testing.T) {
	infos := table(t)
	for _, tt := range []struct {
		typ, family string
		change      func(*Class)
		want        int64
	}{
		{"m5.large", ec2class.AMIFamilyAL2023, func(*Class) {}, 110},
		{"m5.large", ec2class.AMIFamilyAL2, func(*Class) {}, 110},
		{"m5.24xlarge", ec2class.AMIFamilyAL2023, func(*Class) {}, 737},
		{"m5.large", ec2class.AMIFamilyBottlerocket, func(*Class) {}, 29},
		{"m5.large", ec2class.AMIFamilyCustom, func(*Class) {}, 29},
		{"m5.large", ec2class.AMIFamilyAL2023, func(c *Class) { c.Kubelet = &ec2class.KubeletConfiguration{MaxPods: new(int32(40))} }, 40},
		{"m5.large", ec2class.AMIFamilyAL2023, func(c *Class) { c.Kubelet = &ec2class.KubeletConfiguration{PodsPerCore: new(int32(10))} }, 20},
		{"m5.large", ec2class.AMIFamilyAL2023, func(c *Class) { c.IPv6 = false }, 29},
	} {
		info := infos[tt.typ]
		c := class(func(c *Class) { c.IPv6, c.Family = true, tt.family }, tt.change)
		got, plain := Resolve(&info, c, supply()), Resolve(&info, class(func(c *Class) { c.Family = tt.family }), supply())
		if pods := got.Capacity[corev1.ResourcePods]; pods.Value() != tt.want || c.Pods(&info) != tt.want {
			t.Errorf("%s of %s takes %d pods, want %d", tt.typ, tt.family, pods.Value(), tt.want)
		}
		if a, b := printed(got.Overhead, "memory"), printed(plain.Overhead, "memory"); a != b {
			t.Errorf("%s of %s keeps %s of memory, without IPv6 %s", tt.typ, tt.family, a, b)
		}
	}
}

func TestEveryTypeSaysSomethingOnEveryWellKnownLabel(t *testing.T) {
	for name, info := range table(t) {
		typ := Resolve(&info, class(), supply())
		if typ == nil {
			if !strings.HasPrefix(name, "a1.") { // the first Graviton, which AL2023 does not run on
				t.Errorf("%s: %s", name, class().Refuses(&info))
			}
			continue
		}
		for _, key := range WellKnown() {
			if _, ok := typ.Requirements.Lookup(key); !ok {
				t.Errorf("%s says nothing on %s", name, key)
			}
		}
		for _, o := range typ.Offerings {
			if key, conflict := typ.Requirements.Conflict(o.Requirements(), nil); conflict {
				t.Errorf("%s does not list what %s/%s has for %s", name, o.Zone, o.CapacityType, key)
			}
		}
	}
}

func TestLabelsOfAChoiceAreTheNodes(t *testing.T) {
	info := table(t)["g5.2xlarge"]
	info.ClockMHz, info.EBSMbps = 3300, 3500
	typ := Resolve(&info, class(), supply())
	o, _ := typ.Offering("eu-west-1b", catalog.Spot)
	got := catalog.Choice{Type: typ, Offering: &o}.Labels()
	want := map[string]string{
		"node.kubernetes.io/instance-type": "g5.2xlarge", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
		"topology.kubernetes.io/region": "eu-west-1", "topology.kubernetes.io/zone": "eu-west-1b", "topology.k8s.aws/zone-id": "euw1-az3",
		"karpenter.sh/capacity-type":          "spot",
		"karpenter.k8s.aws/instance-category": "g", "karpenter.k8s.aws/instance-generation": "5",
		"karpenter.k8s.aws/instance-family": "g5", "karpenter.k8s.aws/instance-size": "2xlarge",
		"karpenter.k8s.aws/instance-capability-flex": "false", "karpenter.k8s.aws/instance-cpu": "8",
		"karpenter.k8s.aws/instance-cpu-manufacturer": "amd", "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz": "3300",
		"karpenter.k8s.aws/instance-memory": "32768", "karpenter.k8s.aws/instance-ebs-bandwidth": "3500",
		"karpenter.k8s.aws/instance-network-bandwidth": "5000", "karpenter.k8s.aws/instance-local-nvme": "450",
		"karpenter.k8s.aws/instance-hypervisor":                      "nitro",
		"karpenter.k8s.aws/instance-encryption-in-transit-supported": "true",
		"karpenter.k8s.aws/instance-gpu-name":                        "a10g", "karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia",
		"karpenter.k8s.aws/instance-gpu-count": "1", "karpenter.k8s.aws/instance-gpu-memory": "22888",
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			t.Errorf("%s is %q, want %q", key, got[key], want[key])
		}
		delete(got, key)
	}
	if len(got) > 0 {
		t.Errorf("further labels %v", got)
	}
}

func TestTheClassRefusesTypesWithAReason(t *testing.T) {
	infos := table(t)
	for _, tt := range []struct {
		typ    string
		change func(*Class)
		want   string
	}{
		{"m6g.large", func(c *Class) { c.Family = ec2class.AMIFamilyWindows2019 }, "Windows runs on amd64 only"},
		{"m5.large", func(c *Class) { c.PlacementStrategy = "cluster" }, "it cannot be in a placement group with strategy cluster"},
		{"t2.small", func(c *Class) { c.ConnectionTracking = true }, "connection tracking needs the Nitro hypervisor"},
		{"t2.small", func(c *Class) { c.IPv6 = true }, "prefixes of addresses for pods need the Nitro hypervisor"},
		{"t2.small", func(c *Class) { c.Prefixes = true }, "prefixes of addresses for pods need the Nitro hypervisor"},
		{"m5.metal", func(c *Class) { c.IPv6 = true }, ""},
		{"m5.large", func(c *Class) { c.Enclaves = true }, "it does not support Nitro Enclaves"},
		{"m5.large", func(c *Class) { c.NestedVirtualization = true }, "it has no nested virtualization"},
		{"m5.large", func(c *Class) {
			c.Interfaces = []*ec2class.NetworkInterface{{InterfaceType: "interface"}, {NetworkCardIndex: 1, InterfaceType: "interface"}}
		}, "it has 1 network cards, and an interface is on card 1"},
		{"m5.large", func(c *Class) {
			c.Interfaces = []*ec2class.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 3, InterfaceType: "interface"}}
		}, "its network card 0 has 3 interfaces, and one has index 3"},
		{"m5.large", func(c *Class) {
			c.Interfaces = []*ec2class.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: "efa-only"}}
		}, "it has 0 fabric adapters, and 1 are asked for"},
		{"p6-b300.48xlarge", func(c *Class) {
			c.Interfaces = []*ec2class.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: "efa-only"}}
		}, "its network card 0 takes no fabric adapter"},
		{"p6-b300.48xlarge", func(c *Class) {
			c.Interfaces = []*ec2class.NetworkInterface{{InterfaceType: "interface"}, {NetworkCardIndex: 1, InterfaceType: "efa-only"}}
		}, ""},
		{"m5.large", func(*Class) {}, ""},
	} {
		info, ok := infos[tt.typ]
		if !ok {
			t.Fatalf("the table lacks %s", tt.typ)
		}
		c := class(tt.change)
		if got := c.Refuses(&info); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.typ, got, tt.want)
		}
		if typ := Resolve(&info, c, supply()); (typ == nil) != (tt.want != "") {
			t.Errorf("%s: resolved to %v", tt.typ, typ)
		}
	}
}

// kubeletField is a class with a field of spec.kubelet that Karpenter 1.14 did not know.
func kubeletField(name, value string) func(*Class) {
	return func(c *Class) { c.LaterKubelet = map[string]json.RawMessage{name: json.RawMessage(value)} }
}

func TestAClassMaySayWhatItsKubeletTakes(t *testing.T) {
	if err := class(kubeletField("seccompDefault", "true")).Check(nil); err != nil {
		t.Error(err)
	}
}

func TestAClassThatCannotBeCountedNamesTheField(t *testing.T) {
	for want, change := range map[string]func(*Class){
		`spec.amiFamily: "Ubuntu" is not a family of images`: func(c *Class) { c.Family = "Ubuntu" },
		`spec.amiFamily: pods of this cluster have IPv6 addresses, and on Windows there are none`: func(c *Class) {
			c.IPv6, c.Family = true, ec2class.AMIFamilyWindows2022
		},
		`spec.associatePublicIPAddress: EC2 gives no public address to a machine with several spec.networkInterfaces`: func(c *Class) {
			c.PublicIP, c.Interfaces = true, []*ec2class.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: "interface"}}
		},
		`spec.kubelet.kubeReserved.cpu: "many" is no quantity, and an expression only with the feature gate NodeClassCEL`: func(c *Class) {
			c.Kubelet = &ec2class.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "many"}}
		},
		`spec.kubelet.evictionHard.memory.available: "120%" is not a percentage`: func(c *Class) {
			c.Kubelet = &ec2class.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "120%"}}
		},
		`spec.kubelet.systemReserved: "gpu" is none of cpu, memory, ephemeral-storage, pid`: func(c *Class) {
			c.Kubelet = &ec2class.KubeletConfiguration{SystemReserved: map[string]string{"gpu": "1"}}
		},
		`spec.kubelet.systemReserved.cpu: "-1" is negative`: func(c *Class) {
			c.Kubelet = &ec2class.KubeletConfiguration{SystemReserved: map[string]string{"cpu": "-1"}}
		},
		"spec.kubelet.evictionSoft.pid.available: it takes a threshold and an evictionSoftGracePeriod": func(c *Class) {
			c.Kubelet = &ec2class.KubeletConfiguration{EvictionSoft: map[string]string{"pid.available": "5%"}}
		},
		"spec.kubelet.evictionSoft.memory.available: it takes a threshold and an evictionSoftGracePeriod": func(c *Class) {
			c.Kubelet = &ec2class.KubeletConfiguration{EvictionSoftGracePeriod: map[string]metav1.Duration{"memory.available": {Duration: time.Minute}}}
		},
		"spec.kubelet.podsPerCore: -1 is not from 0 to 2147483647": func(c *Class) {
			c.Kubelet = &ec2class.KubeletConfiguration{PodsPerCore: ptr.To(int32(-1))}
		},
		"spec.kubelet.imageGCHighThresholdPercent: 101 is not from 0 to 100": func(c *Class) {
			c.Kubelet = &ec2class.KubeletConfiguration{ImageGCHighThresholdPercent: ptr.To(int32(101))}
		},
		"spec.kubelet.imageGCLowThresholdPercent: 80 is not below imageGCHighThresholdPercent, 80": func(c *Class) {
			c.Kubelet = &ec2class.KubeletConfiguration{ImageGCLowThresholdPercent: ptr.To(int32(80)), ImageGCHighThresholdPercent: ptr.To(int32(80))}
		},
		`spec.kubelet.maxPods: "vcpus * 10" is no number, and an expression only with the feature gate NodeClassCEL`:                       kubeletField("maxPods", `"vcpus * 10"`),
		"spec.kubelet.maxPods: json: cannot unmarshal bool into Go struct field KubeletConfiguration.maxPods of type int32":                kubeletField("maxPods", "true"),
		`spec.kubelet.evictionSoftGracePeriod: time: unknown unit "x" in duration "5x"`:                                                    kubeletField("evictionSoftGracePeriod", `{"memory.available": "5x"}`),
		"spec.kubelet.maxPod: the kubelet has no such setting":                                                                             kubeletField("maxPod", "10"),
		"spec.kubelet.registerWithTaints: it is set from the taints of the NodePool":                                                       kubeletField("registerWithTaints", "[]"),
		"spec.kubelet.seccompDefault: json: cannot unmarshal string into Go struct field KubeletConfiguration.seccompDefault of type bool": kubeletField("seccompDefault", `"yes"`),
		"spec.kubelet.seccompDefault: images of family AL2 do not support it, those of AL2023 do": func(c *Class) {
			kubeletField("seccompDefault", "true")(c)
			c.Family = ec2class.AMIFamilyAL2
		},
	} {
		if err := class(change).Check(nil); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestOfferingsAreWhereTheClassHasSubnets(t *testing.T) {
	info := table(t)["m5.large"]
	s := supply()
	s.Price = func(_, zone, capacityType string) (float64, bool) {
		return 1, capacityType == catalog.OnDemand || zone == "eu-west-1a"
	}
	s.SoldOut = func(_ string, o *catalog.Offering) (string, bool) { return "", o.Zone == "eu-west-1b" }
	s.Reservations = []Reservation{
		{ID: "cr-2", Type: "m5.large", Zone: "eu-west-1a", Left: 3},
		{ID: "cr-1", Type: "m5.large", Zone: "eu-west-1a", Kind: "capacity-block", Interruptible: true},
		{ID: "cr-3", Type: "m5.xlarge", Zone: "eu-west-1a", Left: 3},
		{ID: "cr-4", Type: "m5.large", Zone: "eu-west-1c", Left: 3},
	}
	typ := Resolve(&info, class(), s)
	var got []string
	for _, o := range typ.Offerings {
		line := o.Zone + "/" + o.CapacityType + "/" + o.Reservation
		if !o.Available {
			line += " sold out"
		}
		got = append(got, line)
	}
	want := []string{
		"eu-west-1a/on-demand/", "eu-west-1a/reserved/cr-1 sold out", "eu-west-1a/reserved/cr-2", "eu-west-1a/spot/", "eu-west-1b/on-demand/ sold out",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if r := typ.Requirements.Get(ec2class.LabelCapacityReservationID); !slices.Equal(r.Values(), []string{"cr-1", "cr-2"}) || r.Operator() != requirement.In {
		t.Errorf("reservations are %s", r)
	}
	if s.Zones = nil; Resolve(&info, class(), s) != nil {
		t.Error("a type that is sold nowhere is offered")
	}
}
