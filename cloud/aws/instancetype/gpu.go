package instancetype

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// nvidiaDriver is NVIDIA's driver of dynamic resource allocation.
const nvidiaDriver = "gpu.nvidia.com"

// gpus are the devices that NVIDIA's driver publishes on a Node, with what EC2 tells of them: that
// they are whole GPUs, and their memory, of which the driver may publish a little more or less.
func (i *Info) gpus() []catalog.Device {
	var out []catalog.Device
	for _, g := range i.GPUs {
		if g.Maker != "NVIDIA" {
			continue
		}
		kind, memory := "gpu", resource.NewQuantity(g.MemoryMiB<<20, resource.BinarySI)
		for range g.Count {
			out = append(out, catalog.Device{Driver: nvidiaDriver, Device: &resourcev1.Device{
				Name:       fmt.Sprintf("gpu-%d", len(out)),
				Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": {StringValue: &kind}},
				Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: *memory}},
			}})
		}
	}
	return out
}
