package ec2

import (
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"testing"
)

// What the table says twice it says alike, and every type has what a plan needs.
func TestTheTableIsWholeAndAgreesWithItself(t *testing.T) {
	types, err := Types()
	if err != nil || len(types) < 1000 {
		t.Fatalf("%d types, error %v", len(types), err)
	}
	for i, typ := range types {
		if i > 0 && types[i-1].Name >= typ.Name {
			t.Errorf("%s comes after %s", typ.Name, types[i-1].Name)
		}
		if typ.VCPUs <= 0 || typ.MemoryMiB <= 0 || typ.OnDemand <= 0 || typ.ENIs <= 0 || typ.IPv4 <= 1 {
			t.Errorf("%s lacks something: %+v", typ.Name, typ)
		}
		if n := len(typ.NetworkCards); n == 0 || typ.DefaultNetworkCard >= int64(n) || typ.NetworkCards[typ.DefaultNetworkCard] != typ.ENIs {
			t.Errorf("%s: its default card %d of %v does not hold its %d interfaces", typ.Name, typ.DefaultNetworkCard, typ.NetworkCards, typ.ENIs)
		}
		if typ.Hypervisor != "xen" && (typ.ClockMHz < 1000 || typ.EBSMbps <= 0 || typ.NetworkMbps <= 0) {
			t.Errorf("%s: %d MHz, %d Mbps to EBS, %d Mbps to the network", typ.Name, typ.ClockMHz, typ.EBSMbps, typ.NetworkMbps)
		}
		if (typ.NVMeGB > 0) != (typ.Disks > 0) {
			t.Errorf("%s has %d GB of instance store in %d disks", typ.Name, typ.NVMeGB, typ.Disks)
		}
		if (typ.Accelerator != "") != (typ.Accelerators > 0) {
			t.Errorf("%s has %d of accelerator %q", typ.Name, typ.Accelerators, typ.Accelerator)
		}
	}
}

func TestPricesAreThoseOfTheRegion(t *testing.T) {
	for region, want := range map[string]float64{"us-east-1": 0.096, "us-gov-west-1": 0.121, "us-gov-east-1": 0.121, "cn-north-1": 1.013, "eu-west-1": 0} {
		prices, err := OnDemand(region)
		if err != nil || prices["m5.large"] != want || (prices == nil) != (want == 0) {
			t.Errorf("%s: m5.large costs %v, want %v; error %v", region, prices["m5.large"], want, err)
		}
	}
	if china, _ := OnDemand("cn-north-1"); china["m8g.large"] != 0 {
		t.Error("what is not sold has a price")
	}
}

func TestARowThatCannotBeReadNamesItsColumn(t *testing.T) {
	row := []string{"m5.large", "intel", "two"}
	var typ Type
	if err := typ.read(append(row, make([]string, 21)...)); err == nil || err.Error() != `column 3: strconv.ParseInt: parsing "two": invalid syntax` {
		t.Errorf("got %v", err)
	}
}

// The reference is a table of DescribeInstanceTypes figures, which is not part of the
// project: MILLWRIGHT_EC2_REFERENCE names the file.
func TestFiguresAreThoseOfTheReferenceTable(t *testing.T) {
	path := os.Getenv("MILLWRIGHT_EC2_REFERENCE")
	if path == "" {
		t.Skip("MILLWRIGHT_EC2_REFERENCE names no table to compare with")
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	reference := map[string]map[string]string{}
	for _, row := range rows[1:] {
		byColumn := map[string]string{}
		for i, column := range rows[0] {
			byColumn[column] = row[i]
		}
		reference[byColumn["name"]] = byColumn
	}
	types, err := Types()
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range types {
		want, ok := reference[typ.Name]
		if !ok {
			t.Errorf("%s is not in the reference", typ.Name)
			continue
		}
		var gpus int64
		if typ.GPUMaker() != "" {
			gpus = typ.Accelerators
		}
		limit := "dedicated"
		if typ.EBSShared {
			limit = "shared"
		}
		for column, got := range map[string]any{
			"vcpu": typ.VCPUs, "memory_mib": typ.MemoryMiB, "gpus": gpus, "hypervisor": typ.Hypervisor,
			"ipv4_per_eni": typ.IPv4, "max_ebs_attachments": typ.EBSLimit, "ebs_limit_type": limit,
			"local_nvme_gb": typ.NVMeGB,
		} {
			if fmt.Sprint(got) != want[column] {
				t.Errorf("%s: %s is %v, the reference has %s", typ.Name, column, got, want[column])
			}
		}
		if memory := gpus * typ.AcceleratorMiB; gpus > 0 && fmt.Sprint(memory) != want["gpu_memory_mib"] {
			t.Errorf("%s: GPU memory is %d, the reference has %s", typ.Name, memory, want["gpu_memory_mib"])
		}
		var interfaces int64
		for _, n := range typ.NetworkCards {
			interfaces += n
		}
		if fmt.Sprint(interfaces) != want["max_enis"] {
			t.Errorf("%s: %d interfaces on all cards, the reference has %s", typ.Name, interfaces, want["max_enis"])
		}
		if arm := strings.Contains(want["architectures"], "arm64"); arm != (typ.Arch() == "arm64") {
			t.Errorf("%s: architecture is %s, the reference has %s", typ.Name, typ.Arch(), want["architectures"])
		}
		if spot := strings.Contains(want["usage_classes"], "spot"); spot != typ.Spot {
			t.Errorf("%s: spot is %v, the reference has %v", typ.Name, typ.Spot, spot)
		}
	}
	t.Logf("%d types compared", len(types))
}

func TestNamesThatDoNotFollowTheRuleHaveNoCategory(t *testing.T) {
	for name, want := range map[string]string{
		"m5.large": "m 5", "u-12tb1.112xlarge": "u 1", "u7i-12tb.224xlarge": "u 7", "c7gn.metal": "c 7",
		"m7i-flex.large": "m 7", "hpc7g.4xlarge": "hpc 7", "mac.metal": " ",
	} {
		category, generation := Category(name)
		if got := category + " " + generation; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
