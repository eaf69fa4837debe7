package boot

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/cloud/ec2"
)

// Machine is what a kubelet finds.
type Machine struct {
	OS OS
	// Name is that of the Node: on EC2 the private DNS name.
	Name, Address, ProviderID string
	Type                      *ec2.Type
	// DiskGiB is the volume with the kubelet's data.
	DiskGiB int64
	// Fabric is how many fabric adapters it has, which their device plugin tells of.
	Fabric int64
	// Devices says that the image brings the drivers of accelerators.
	Devices bool
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// Uninitialized is the taint of a Node until the cloud controller manager has been there.
var Uninitialized = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}

// Node is what the kubelet registers: not yet what the cloud controller manager adds.
func Node(k Kubelet, m Machine) *corev1.Node {
	system := "linux"
	if m.OS == Windows {
		system = "windows"
	}
	labels := map[string]string{}
	maps.Copy(labels, k.Labels)
	maps.Copy(labels, map[string]string{
		corev1.LabelArchStable: m.Type.Arch(), "beta.kubernetes.io/arch": m.Type.Arch(),
		corev1.LabelOSStable: system, "beta.kubernetes.io/os": system, corev1.LabelHostname: m.Name,
	})
	capacity := k.capacity(m)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: m.ProviderID, Taints: append(append([]corev1.Taint{}, k.Taints...), Uninitialized)},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: k.allocatable(m, capacity),
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: m.Address}, {Type: corev1.NodeInternalDNS, Address: m.Name}, {Type: corev1.NodeHostName, Address: m.Name}},
			NodeInfo:  corev1.NodeSystemInfo{OSImage: string(m.OS), OperatingSystem: system, Architecture: m.Type.Arch()},
		},
	}
}

// addresses is how many pods the image counts on: those of the interfaces' secondary
// addresses, and two in the host's network.
func (m *Machine) addresses() int64 {
	if m.OS == Windows {
		return 110
	}
	return m.Type.ENIs*(m.Type.IPv4-1) + 2
}

func (k *Kubelet) maxPods(m Machine) int64 {
	pods := m.addresses()
	if k.MaxPods != nil {
		pods = *k.MaxPods
	}
	if k.PodsPerCore > 0 {
		pods = min(pods, k.PodsPerCore*m.Type.VCPUs)
	}
	return pods
}

// MemoryKept is how much of a machine's memory, in bytes, its kernel and firmware keep: a
// share for the page tables, and a fixed part. The rest is in whole KiB, as kernels tell it.
func MemoryKept(memoryMiB int64) int64 {
	return (int64(float64(memoryMiB*mib)*0.016) + 64*mib + kib - 1) / kib * kib
}

func (k *Kubelet) capacity(m Machine) corev1.ResourceList {
	disk := m.DiskGiB * gib
	if k.RAID0 && m.Type.NVMeGB > 0 {
		disk = m.Type.NVMeGB * 1e9
	}
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(m.Type.VCPUs, resource.DecimalSI),
		corev1.ResourceMemory:           size(m.Type.MemoryMiB*mib - MemoryKept(m.Type.MemoryMiB)),
		corev1.ResourceEphemeralStorage: size(disk),
		corev1.ResourcePods:             *resource.NewQuantity(k.maxPods(m), resource.DecimalSI),
	}
	if m.Fabric > 0 && m.OS != Windows {
		list["vpc.amazonaws.com/efa"] = *resource.NewQuantity(m.Fabric, resource.DecimalSI)
	}
	if m.Type.Accelerators == 0 || !m.Devices {
		return list
	}
	count := *resource.NewQuantity(m.Type.Accelerators, resource.DecimalSI)
	switch {
	case m.Type.Neuron():
		list["aws.amazon.com/neuron"] = count
		list["aws.amazon.com/neuroncore"] = *resource.NewQuantity(m.Type.Accelerators*m.Type.CoresPerNeuron(), resource.DecimalSI)
	case strings.HasPrefix(m.Type.Accelerator, "gaudi"):
		list["habana.ai/gaudi"] = count
	case strings.HasPrefix(m.Type.Accelerator, "radeon"):
		list["amd.com/gpu"] = count
	default:
		list["nvidia.com/gpu"] = count
	}
	return list
}

// allocatable takes off what is reserved and the hard eviction thresholds.
func (k *Kubelet) allocatable(m Machine, capacity corev1.ResourceList) corev1.ResourceList {
	pods := m.addresses()
	if m.OS == Bottlerocket || m.OS == Windows {
		pods = k.maxPods(m) // these follow the setting, the others the interfaces
	}
	reserved := over(map[string]string{
		"cpu": strconv.FormatInt(reservedMilli(m.Type.VCPUs), 10) + "m", "memory": fmt.Sprintf("%dMi", 255+11*pods), "ephemeral-storage": "1Gi",
	}, k.KubeReserved)
	evict := map[string]string{"memory.available": "100Mi", "nodefs.available": "10%"}
	if m.OS == Windows {
		evict["memory.available"] = "500Mi"
	}
	evict = over(evict, k.EvictionHard)
	out := capacity.DeepCopy()
	take := func(name corev1.ResourceName, q resource.Quantity) {
		if left, ok := out[name]; ok {
			if left.Sub(q); left.Sign() < 0 {
				left = resource.Quantity{}
			}
			out[name] = left
		}
	}
	for _, list := range []map[string]string{reserved, k.SystemReserved} {
		for name, text := range list {
			take(corev1.ResourceName(name), resource.MustParse(text)) // check has read it
		}
	}
	for signal, name := range map[string]corev1.ResourceName{"memory.available": corev1.ResourceMemory, "nodefs.available": corev1.ResourceEphemeralStorage} {
		if q, err := threshold(capacity[name], evict[signal]); err == nil {
			take(name, q)
		}
	}
	return out
}

// reservedMilli is what images of EKS keep for Kubernetes: 6 % of the first core, 1 % of the
// second, 0.5 % of the next two, 0.25 % of the others.
func reservedMilli(cores int64) int64 {
	first, second := min(cores, 1)*60, min(max(cores-1, 0), 1)*10
	return first + second + min(max(cores-2, 0), 2)*5 + max(cores-4, 0)*25/10
}

func threshold(whole resource.Quantity, text string) (resource.Quantity, error) {
	share, percent := strings.CutSuffix(text, "%")
	if !percent {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return q, fmt.Errorf("%q is neither a quantity nor a percentage", text)
		}
		if q.Sign() <= 0 {
			return q, fmt.Errorf("eviction threshold %q must be positive", text)
		}
		return q, nil
	}
	p, err := strconv.ParseFloat(share, 64)
	if err != nil || p < 0 || p > 100 {
		return resource.Quantity{}, fmt.Errorf("%q is not a percentage", text)
	}
	if p == 100 {
		p = 0 // switched off
	}
	return size(int64(math.Ceil(float64(whole.Value()) * p / 100))), nil
}

func size(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.BinarySI) }
