package kwok

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

func ec2Types(t testing.TB) []*catalog.Type {
	t.Helper()
	types, err := EC2Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func find(t testing.TB, types []*catalog.Type, name string) *catalog.Type {
	t.Helper()
	i := slices.IndexFunc(types, func(t *catalog.Type) bool { return t.Name == name })
	if i < 0 {
		t.Fatalf("no type %s", name)
	}
	return types[i]
}

func quantities(list corev1.ResourceList, names ...corev1.ResourceName) string {
	var out []string
	for _, name := range names {
		q := list[name]
		out = append(out, q.String())
	}
	return strings.Join(out, " ")
}

func TestAllocatableOfEC2TypesIsWhatEKSNodesReport(t *testing.T) {
	// The expected values are those that Karpenter's documentation publishes.
	for name, want := range map[string]string{
		"m5.large":     "1930m 6903Mi 29 17Gi",
		"r5a.12xlarge": "47810m 360795Mi 234 17Gi",
		"r5ad.xlarge":  "3920m 29317Mi 58 17Gi",
		"r5b.24xlarge": "95690m 718987Mi 737 17Gi",
	} {
		got := quantities(find(t, ec2Types(t), name).Allocatable(),
			corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage)
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestEC2TypesCarryTheirAccelerators(t *testing.T) {
	for _, c := range []struct{ name, resource, want string }{
		{"g5.12xlarge", "nvidia.com/gpu", "4"},
		{"g4ad.16xlarge", "amd.com/gpu", "4"},
		{"p5.48xlarge", "nvidia.com/gpu", "8"},
		{"p5.48xlarge", "vpc.amazonaws.com/efa", "32"},
		{"inf2.48xlarge", "aws.amazon.com/neuroncore", "24"},
		{"trn1.2xlarge", "aws.amazon.com/neuron", "1"},
		{"m5.large", "nvidia.com/gpu", "0"},
		{"m5.large", "vpc.amazonaws.com/pod-eni", "9"},
	} {
		if got := quantities(find(t, ec2Types(t), c.name).Capacity, corev1.ResourceName(c.resource)); got != c.want {
			t.Errorf("%s has %s of %s, want %s", c.name, got, c.resource, c.want)
		}
	}
}

func TestNodesOfEveryEC2TypeMayHaveItsLabels(t *testing.T) {
	for _, typ := range ec2Types(t) {
		for key, value := range (catalog.Choice{Type: typ, Offering: &typ.Offerings[0]}).Labels() {
			if faults := validation.IsValidLabelValue(value); len(faults) > 0 {
				t.Errorf("%s: %s=%q: %v", typ.Name, key, value, faults)
			}
		}
	}
}

func TestEC2LabelsAreThoseOfTheAWSProvider(t *testing.T) {
	got := catalog.Choice{Type: find(t, ec2Types(t), "m6idn.8xlarge"), Offering: &find(t, ec2Types(t), "m6idn.8xlarge").Offerings[0]}.Labels()
	for key, want := range map[string]string{
		"node.kubernetes.io/instance-type":                           "m6idn.8xlarge",
		"kubernetes.io/arch":                                         "amd64",
		"topology.kubernetes.io/region":                              "us-east-1",
		"topology.kubernetes.io/zone":                                "us-east-1a",
		"topology.k8s.aws/zone-id":                                   "use1-az1",
		"karpenter.sh/capacity-type":                                 "on-demand",
		"karpenter.k8s.aws/instance-category":                        "m",
		"karpenter.k8s.aws/instance-generation":                      "6",
		"karpenter.k8s.aws/instance-family":                          "m6idn",
		"karpenter.k8s.aws/instance-size":                            "8xlarge",
		"karpenter.k8s.aws/instance-cpu":                             "32",
		"karpenter.k8s.aws/instance-cpu-manufacturer":                "intel",
		"karpenter.k8s.aws/instance-memory":                          "131072",
		"karpenter.k8s.aws/instance-local-nvme":                      "1900",
		"karpenter.k8s.aws/instance-hypervisor":                      "nitro",
		"karpenter.k8s.aws/instance-encryption-in-transit-supported": "true",
		"karpenter.k8s.aws/instance-capability-flex":                 "false",
		"karpenter.k8s.aws/instance-gpu-count":                       "",
		"karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz":   "3500",
		"karpenter.k8s.aws/instance-ebs-bandwidth":                   "25000",
		"karpenter.kwok.sh/instance-family":                          "m6idn",
		"karpenter.kwok.sh/instance-size":                            "8xlarge",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
}

func TestAttachLimitsLeaveRoomForRootVolumeAndNetwork(t *testing.T) {
	for name, want := range map[string]int64{
		"m5.large":     25, // shared: 27 less root and the second interface
		"m5d.24xlarge": 21, // and four disks
		"g5.48xlarge":  7,
		"d3.8xlarge":   1,
		"m7i.large":    31, // dedicated: 32 less root
		"m7i.48xlarge": 127,
		"c8i.32xlarge": 87,
		"i3.large":     38, // Xen
		"p4d.24xlarge": 27,
	} {
		if got := find(t, ec2Types(t), name).AttachLimits[EBSDriver]; got != want {
			t.Errorf("%s takes %d volumes, want %d", name, got, want)
		}
	}
}

func TestSpotIsCheaperThanOnDemandAndDiffersByZone(t *testing.T) {
	different := 0
	for _, typ := range ec2Types(t) {
		onDemand, _ := typ.Offering("us-east-1a", catalog.OnDemand)
		prices := map[float64]bool{}
		for _, o := range typ.Offerings {
			if o.Price <= 0 {
				t.Errorf("%s costs %v in %s as %s", typ.Name, o.Price, o.Zone, o.CapacityType)
			}
			if o.CapacityType == catalog.Spot {
				prices[o.Price] = true
				if share := o.Price / onDemand.Price; share < 0.25 || share > 0.72 {
					t.Errorf("%s: spot in %s is %.2f of on-demand", typ.Name, o.Zone, share)
				}
			}
		}
		if len(prices) > 1 {
			different++
		}
	}
	if different < 1000 {
		t.Errorf("the spot price differs between zones for %d types only", different)
	}
}

func TestCataloguesAreSortedWithoutDuplicates(t *testing.T) {
	for name, types := range map[string][]*catalog.Type{"ec2": ec2Types(t), "kwok": KWOKCatalogue()} {
		for i, typ := range types {
			if i > 0 && types[i-1].Name >= typ.Name {
				t.Errorf("%s: %s comes before %s", name, types[i-1].Name, typ.Name)
			}
			for j := 1; j < len(typ.Offerings); j++ {
				a, b := typ.Offerings[j-1], typ.Offerings[j]
				if a.Zone+"/"+a.CapacityType >= b.Zone+"/"+b.CapacityType {
					t.Errorf("%s: offerings of %s are out of order", name, typ.Name)
				}
			}
			for j := 1; j < len(typ.Requirements); j++ {
				if typ.Requirements[j-1].Key() >= typ.Requirements[j].Key() {
					t.Errorf("%s: requirements of %s are out of order", name, typ.Name)
				}
			}
		}
	}
}

func TestKWOKCatalogueIsKWOKs(t *testing.T) {
	types := KWOKCatalogue()
	if len(types) != 144 {
		t.Fatalf("%d types, want 144", len(types))
	}
	c := find(t, types, "c-1x-amd64-linux")
	spot, _ := c.Offering("test-zone-d", catalog.Spot)
	onDemand, _ := c.Offering("test-zone-d", catalog.OnDemand)
	if onDemand.Price != 0.027147483648 || spot.Price < 0.01900323 || spot.Price > 0.01900324 {
		t.Errorf("c-1x costs %v, spot %v", onDemand.Price, spot.Price)
	}
	m := find(t, types, "m-256x-arm64-windows")
	got := quantities(m.Allocatable(), corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage)
	if got != "255900m 2097142Mi 1024 20Gi" {
		t.Errorf("m-256x offers %s", got)
	}
	labels := catalog.Choice{Type: m, Offering: &m.Offerings[0]}.Labels()
	if labels["karpenter.kwok.sh/instance-family"] != "m" || labels["karpenter.kwok.sh/instance-size"] != "256" ||
		labels["karpenter.kwok.sh/instance-memory"] != "2Ti" || labels["kubernetes.io/os"] != "windows" {
		t.Errorf("m-256x has labels %v", labels)
	}
}

func BenchmarkEC2Catalogue(b *testing.B) {
	for range b.N {
		types, err := buildEC2()
		if err != nil || len(types) < 600 {
			b.Fatal(len(types), err)
		}
	}
}

// Bare metal is sold, for those who ask for it, and has no hypervisor.
func TestBareMetalIsForThoseWhoAskForIt(t *testing.T) {
	types, err := EC2Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	metal := requirement.NewSet(requirement.Must("karpenter.k8s.aws/instance-size", requirement.In, "metal"), requirement.Must("karpenter.k8s.aws/instance-hypervisor", requirement.In, ""))
	if ranked := catalog.Rank(types, metal, nil, nil); len(ranked) == 0 || !ranked[0].Type.Exotic {
		t.Errorf("%d launches are of bare metal", len(ranked))
	}
	for _, c := range catalog.Rank(types, nil, nil, nil) {
		if strings.Contains(c.Type.Name, ".metal") {
			t.Errorf("%s is offered to those who do not ask for it", c.Type.Name)
		}
	}
}
