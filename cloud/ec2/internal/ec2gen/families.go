package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// family is what all sizes of an instance family have in common, or differ in
// by a rule. The facts are those of the EC2 user guide.
type family struct {
	// gib is memory in GiB per vCPU; memoryMiB names the sizes that deviate.
	gib       float64
	memoryMiB map[string]int
	// vcpus names the sizes that deviate from the rule of vcpusOf.
	vcpus map[string]int
	// maker of the processor: intel, amd, or aws for Graviton, which is arm64.
	maker string
	// encrypts traffic between instances of such families.
	encrypts bool
	// noSpot is set where EC2 sells no spot capacity.
	noSpot      bool
	disks       disksBySize
	accelerator accelerator
	// ebs is dedicated if EBS volumes have slots of their own; ebsLimit names
	// the sizes whose limit does not follow from the rule of ebsLimit.
	dedicatedEBS bool
	ebsLimit     map[string]int
}

type accelerator struct {
	name  string
	mib   int // memory of one
	count map[string]int
}

// disk is a set of equal NVMe instance-store disks.
type disk struct{ count, gb int }

func (d disk) total() int { return d.count * d.gb }

type disksBySize map[string]disk

// unruled says which types follow no rule of a family: bare metal, hosts for other purposes, and
// earlier generations. Their figures are those of the reference, or they are left out.
func unruled(family, size string) bool {
	if strings.HasPrefix(size, "metal") {
		return true
	}
	for _, prefix := range []string{"mac", "hpc", "u-", "u7i", "vt1", "dl", "f1", "f2"} {
		if strings.HasPrefix(family, prefix) {
			return true
		}
	}
	return slices.Contains(strings.Fields(`
		g6f gr6f
		a1 c1 c3 c4 cr1 d2 g2 g3 g3s h1 i2 m1 m2 m3 m4 p2 p3 r3 r4 t1 x1 x1e`), family)
}

// alone is a family of one type, by its figures.
func alone(familyName, size string, f figures) family {
	out := family{
		memoryMiB: counts(size + ":" + itoa(f.memoryMiB)), vcpus: counts(size + ":" + itoa(f.vcpus)), maker: f.maker, encrypts: f.encrypts,
		noSpot: strings.HasPrefix(familyName, "u") || strings.HasPrefix(familyName, "hpc"),
	}
	if f.nvmeGB > 0 {
		out.disks = disksBySize{size: {disksOf(familyName, f.nvmeGB), f.nvmeGB}}
		out.disks[size] = disk{out.disks[size].count, f.nvmeGB / out.disks[size].count}
	}
	if f.gpus > 0 {
		out.accelerator = accelerator{f.gpu, f.gpuMiB, counts(size + ":" + itoa(f.gpus))}
	}
	switch { // the EC2 user guide
	case strings.HasPrefix(familyName, "u-") && size == "metal":
		out.dedicatedEBS, out.ebsLimit = true, counts(size+":19")
	case size == "metal-32xl", size == "metal-48xl", size == "metal-96xl":
		out.dedicatedEBS, out.ebsLimit = true, counts(size+":79")
	case strings.HasPrefix(size, "metal"):
		out.dedicatedEBS, out.ebsLimit = true, counts(size+":31")
	}
	return out
}

// disksOf is how many disks hold so many GB in another size of the family, else one.
func disksOf(familyName string, gb int) int {
	most := 1
	for _, d := range families[familyName].disks {
		if d.total() == gb {
			most = max(most, d.count)
		}
	}
	return most
}

// vcpusOf says that an xlarge is 4 vCPUs, and large, medium are 2 and 1.
func vcpusOf(f family, size string) (int, error) {
	if n, ok := f.vcpus[size]; ok {
		return n, nil
	}
	switch size {
	case "medium":
		return 1, nil
	case "large":
		return 2, nil
	case "xlarge":
		return 4, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(size, "xlarge"))
	if err != nil {
		return 0, fmt.Errorf("size %s follows no rule", size)
	}
	return 4 * n, nil
}

func (f family) memory(size string, vcpus int) int {
	if mib, ok := f.memoryMiB[size]; ok {
		return mib
	}
	return int(f.gib * 1024 * float64(vcpus))
}

// ebsLimit is how many EBS volumes EC2 attaches at most, and whether the slots
// are dedicated to EBS or shared. Shared: 28 slots on Nitro, of which the first
// network interface, every instance-store disk and every accelerator take one.
// Dedicated: by size. Xen: 40.
func ebsLimit(f family, size string, vcpus int, hypervisor string) (int, string) {
	kind := "shared"
	if f.dedicatedEBS {
		kind = "dedicated"
	}
	if n, ok := f.ebsLimit[size]; ok {
		return n, kind
	}
	switch {
	case hypervisor == "xen":
		return 40, kind
	case !f.dedicatedEBS:
		return 27 - f.disks[size].count - f.accelerator.count[size], kind
	case vcpus >= 192:
		return 128, kind
	case vcpus >= 128:
		return 88, kind
	case vcpus >= 96:
		return 64, kind
	case vcpus >= 64:
		return 48, kind
	}
	return 32, kind
}
