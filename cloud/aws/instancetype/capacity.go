package instancetype

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/cloud/aws/observed"
	"github.com/millwright-dev/millwright/engine/catalog"
)

const (
	mib = 1 << 20
	gib = 1 << 30
	// usualPods is the kubelet's own default.
	usualPods = 110
	// graviton is what firmware keeps on arm64, in MiB.
	graviton = 64
)

// Pods is how many pods a Node of the type takes under the class. It is what the kubelet
// is told as well.
func (c *Class) Pods(i *Info) int64 {
	k, f := c.kubelet(), c.family()
	n := int64(usualPods)
	switch {
	case k.MaxPods != nil:
		n = int64(*k.MaxPods)
	case f.eniPods:
		n = c.addresses(i, c.ReservedENIs)
		if c.IPv6 && f.dense { // an interface's prefix has addresses for any number
			n = max(n, usualPods)
		}
	}
	if k.PodsPerCore != nil && *k.PodsPerCore > 0 {
		n = min(n, int64(*k.PodsPerCore)*i.VCPUs)
	}
	return n
}

// addresses is how many pods the addresses of the interfaces are for: those of secondary
// addresses, and two in the host's network.
func (c *Class) addresses(i *Info, reserved int64) int64 {
	_, fabric := c.fabricOnly()
	usable := i.interfaces() - reserved - fabric
	if usable <= 0 {
		return 0
	}
	return usable*(i.IPv4-1) + 2
}

// memory is what the Node reports.
func (c *Class) memory(i *Info) resource.Quantity {
	if c.Memory != nil {
		if seen, ok := c.Memory(i.Name); ok {
			return size(seen)
		}
	}
	total := i.MemoryMiB
	if i.Arch == "arm64" {
		total -= graviton
	}
	return size((total - int64(math.Ceil(float64(total)*c.MemoryOverhead))) * mib)
}

// storage is the disk that holds the kubelet's data and the images.
func (c *Class) storage(i *Info) resource.Quantity {
	f := c.family()
	if c.RAID0 && i.StoreGB > 0 {
		return *resource.NewQuantity(i.StoreGB*1e9, resource.DecimalSI)
	}
	for _, d := range c.Devices {
		if d.RootVolume && sized(d) && !f.onlyThere {
			return *d.EBS.VolumeSize
		}
	}
	if n := len(c.Devices); f.device == "" && n > 0 && sized(c.Devices[n-1]) {
		return *c.Devices[n-1].EBS.VolumeSize
	}
	for _, d := range c.Devices {
		if f.device != "" && d.DeviceName != nil && *d.DeviceName == f.device && sized(d) {
			return *d.EBS.VolumeSize
		}
	}
	return size(f.gib * gib)
}

func sized(d *ec2class.BlockDeviceMapping) bool { return d.EBS != nil && d.EBS.VolumeSize != nil }

// capacity is the size of the machine. Resources of which it has none are left out.
func (c *Class) capacity(i *Info) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:              count(i.VCPUs),
		corev1.ResourceMemory:           c.memory(i),
		corev1.ResourceEphemeralStorage: c.storage(i),
		corev1.ResourcePods:             count(c.Pods(i)),
	}
	fabric, _ := c.fabricOnly()
	if c.Interfaces == nil {
		fabric = int64(len(c.Fabric(i)))
	}
	further := map[corev1.ResourceName]int64{
		ec2class.ResourceAWSPodENI:     i.PodENIs,
		ec2class.ResourceEFA:           fabric,
		ec2class.ResourceNVIDIAGPU:     devices(i.GPUs, "NVIDIA"),
		ec2class.ResourceAMDGPU:        devices(i.GPUs, "AMD"),
		ec2class.ResourceHabanaGaudi:   devices(i.GPUs, "Habana"),
		ec2class.ResourceAWSNeuron:     devices(i.Neurons, ""),
		ec2class.ResourceAWSNeuronCore: cores(i.Neurons),
	}
	if c.family().windows != "" {
		further[ec2class.ResourcePrivateIPv4Address] = i.IPv4 - 1
	}
	for name, n := range further {
		if n > 0 {
			list[name] = count(n)
		}
	}
	return list
}

// devices counts those of a maker; empty is any.
func devices(list []Device, maker string) int64 {
	n := int64(0)
	for _, d := range list {
		if maker == "" || d.Maker == maker {
			n += d.Count
		}
	}
	return n
}

func cores(list []Device) int64 {
	if len(list) == 0 {
		return 0
	}
	return list[0].Count * list[0].Cores
}

// overhead is what pods cannot have: kube-reserved, system-reserved and the hard eviction
// thresholds. Soft thresholds do not count: a Node may pass them.
func (c *Class) overhead(i *Info, capacity corev1.ResourceList) corev1.ResourceList {
	out := c.kubeReserved(i)
	for name, text := range c.kubelet().SystemReserved {
		add(out, corev1.ResourceName(name), quantity(text))
	}
	for name, q := range c.evictionHard(capacity) {
		add(out, name, q)
	}
	return out
}

// observe takes off what pods cannot have beyond that, as Nodes have shown, and adds what they have.
func (c *Class) observe(t *catalog.Type) {
	seen, lacking := c.Allocatable(t.Name)
	for name, q := range seen {
		if observed.Counted(name) && q.Sign() > 0 {
			t.Capacity[name] = q
		}
	}
	expected := t.Allocatable()
	for name, q := range seen {
		switch more := expected[name]; {
		case observed.Counted(name):
		case more.Cmp(q) > 0:
			more.Sub(q)
			add(t.Overhead, name, more)
		case name == corev1.ResourceEphemeralStorage:
			q.Sub(more)
			add(t.Capacity, name, q)
		}
	}
	for name, lack := range lacking {
		add(t.Overhead, name, lack.Of(expected[name]))
	}
}

func (c *Class) kubeReserved(i *Info) corev1.ResourceList {
	pods := c.Pods(i)
	if c.family().eniReserve {
		pods = c.addresses(i, 0)
	}
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(reservedMilli(i.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory:           size((11*pods + 255) * mib),
		corev1.ResourceEphemeralStorage: size(gib),
	}
	for name, text := range c.kubelet().KubeReserved {
		list[corev1.ResourceName(name)] = quantity(text)
	}
	return list
}

// reservedMilli is 6 % of the first core, 1 % of the second, 0.5 % of the next two and
// 0.25 % of the others, each band in whole thousandths.
func reservedMilli(cores int64) int64 {
	milli := int64(0)
	for _, band := range []struct{ from, to, reserve float64 }{{0, 1, 60}, {1, 2, 10}, {2, 4, 5}, {4, math.MaxInt32, 2.5}} {
		milli += int64(max(0, min(float64(cores), band.to)-band.from) * band.reserve)
	}
	return milli
}

// evictionHard is 100 MiB of memory, on Windows 500, and a tenth of the disk, unless the class says
// other thresholds.
func (c *Class) evictionHard(capacity corev1.ResourceList) corev1.ResourceList {
	memory, disk := capacity[corev1.ResourceMemory], capacity[corev1.ResourceEphemeralStorage]
	least := int64(100 * mib)
	if c.family().windows != "" {
		least = 500 * mib
	}
	list := corev1.ResourceList{
		corev1.ResourceMemory:           size(least),
		corev1.ResourceEphemeralStorage: size((disk.Value() + 9) / 10),
	}
	for signal, of := range map[string]struct {
		name  corev1.ResourceName
		whole resource.Quantity
	}{
		"memory.available": {corev1.ResourceMemory, memory},
		"nodefs.available": {corev1.ResourceEphemeralStorage, disk},
	} {
		if text, ok := c.kubelet().EvictionHard[signal]; ok {
			if q, err := threshold(of.whole, text); err == nil {
				list[of.name] = q
			}
		}
	}
	return list
}

// threshold is an eviction threshold: a quantity above zero, as the kubelet demands, or a share
// of the whole rounded up; a hundred percent switches it off.
func threshold(whole resource.Quantity, text string) (resource.Quantity, error) {
	share, percent := strings.CutSuffix(text, "%")
	if !percent {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return q, fmt.Errorf("%q is neither a quantity nor a percentage", text)
		}
		if q.Sign() <= 0 {
			return q, fmt.Errorf("%q is not above zero", text)
		}
		return q, nil
	}
	p, err := strconv.ParseFloat(share, 64)
	if err != nil || p < 0 || p > 100 {
		return resource.Quantity{}, fmt.Errorf("%q is not a percentage", text)
	}
	if p == 100 {
		p = 0
	}
	return size(int64(math.Ceil(float64(whole.Value()) / 100 * p))), nil
}

// quantity reads what Check has accepted; anything else is none.
func quantity(text string) resource.Quantity {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}
	}
	return q
}

func add(list corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	sum := list[name]
	sum.Add(q)
	list[name] = sum
}

func count(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }
func size(n int64) resource.Quantity  { return *resource.NewQuantity(n, resource.BinarySI) }
