package instancetype

import (
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// nvidiaDriver is NVIDIA's driver of dynamic resource allocation.
const nvidiaDriver = "gpu.nvidia.com"

// gpu is what NVIDIA's driver publishes of a GPU.
type gpu struct{ product, architecture, brand, capability, memory string }

var (
	t4g  = gpu{"NVIDIA T4G", "Turing", "Nvidia", "7.5.0", "15Gi"}
	l4   = gpu{"NVIDIA L4", "Ada Lovelace", "Nvidia", "8.9.0", "23034Mi"}
	h200 = gpu{"NVIDIA H200", "Hopper", "Nvidia", "9.0.0", "140Gi"}

	// gpusOf are the GPUs of a family of instance types, read off Nodes of them: the table of
	// Karpenter's provider 1.15.2, whose gate DRANVIDIAGPU uses it.
	gpusOf = map[string]gpu{
		"g4dn":    {"Tesla T4", "Turing", "Nvidia", "7.5.0", "15Gi"},
		"g5":      {"NVIDIA A10G", "Ampere", "Nvidia", "8.6.0", "23028Mi"},
		"g5g":     t4g,
		"g6":      l4,
		"gr6":     l4,
		"g6e":     {"NVIDIA L40S", "Ada Lovelace", "Nvidia", "8.9.0", "46068Mi"},
		"g7":      {"NVIDIA RTX PRO 4500 Blackwell Server Edition", "Blackwell", "Nvidia", "12.0.0", "32160Mi"},
		"g7e":     {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "Blackwell", "Nvidia", "12.0.0", "95Gi"},
		"p3dn":    {"Tesla V100-SXM2-32GB", "Volta", "Tesla", "7.0.0", "32Gi"},
		"p4d":     {"NVIDIA A100-SXM4-40GB", "Ampere", "Nvidia", "8.0.0", "40Gi"},
		"p4de":    {"NVIDIA A100-SXM4-80GB", "Ampere", "Nvidia", "8.0.0", "80Gi"},
		"p5":      {"NVIDIA H100 80GB HBM3", "Hopper", "Nvidia", "9.0.0", "81152Mi"},
		"p5e":     h200,
		"p5en":    h200,
		"p6-b200": {"NVIDIA B200", "Blackwell", "Nvidia", "10.0.0", "182784Mi"},
		"p6-b300": {"NVIDIA B300 SXM6 AC", "Blackwell", "Nvidia", "10.3.0", "268Gi"},
	}
)

// gpus are the devices that NVIDIA's driver publishes on a Node. Of families that are not in the
// table EC2 tells that they are whole GPUs, and their memory, of which the driver may publish a
// little more or less.
func (i *Info) gpus() []catalog.Device {
	var out []catalog.Device
	for _, g := range i.GPUs {
		if g.Maker != "NVIDIA" {
			continue
		}
		attributes := map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": {StringValue: new("gpu")}}
		memory := *resource.NewQuantity(g.MemoryMiB<<20, resource.BinarySI)
		family, _, _ := strings.Cut(i.Name, ".")
		if known, ok := gpusOf[family]; ok {
			attributes["productName"] = resourcev1.DeviceAttribute{StringValue: &known.product}
			attributes["architecture"] = resourcev1.DeviceAttribute{StringValue: &known.architecture}
			attributes["brand"] = resourcev1.DeviceAttribute{StringValue: &known.brand}
			attributes["cudaComputeCapability"] = resourcev1.DeviceAttribute{VersionValue: &known.capability}
			memory = resource.MustParse(known.memory)
		}
		for range g.Count {
			out = append(out, catalog.Device{Driver: nvidiaDriver, Device: &resourcev1.Device{
				Name: fmt.Sprintf("gpu-%d", len(out)), Attributes: attributes,
				Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: memory}},
			}})
		}
	}
	return out
}
