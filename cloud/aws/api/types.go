package api

import (
	"context"
	"math"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
)

// Types lists the instance types of the region that Kubernetes' architectures fit, in any
// order.
func (c *Client) Types(ctx context.Context) ([]instancetype.Info, error) {
	var out []instancetype.Info
	pages := ec2.NewDescribeInstanceTypesPaginator(c.ec2, &ec2.DescribeInstanceTypesInput{
		MaxResults: aws.Int32(100),
		Filters: []types.Filter{
			{Name: aws.String("supported-virtualization-type"), Values: []string{"hvm"}},
			{Name: aws.String("processor-info.supported-architecture"), Values: []string{"x86_64", "arm64"}},
		},
	})
	for page, err := range each(ctx, "ec2:DescribeInstanceTypes", pages) {
		if err != nil {
			return nil, err
		}
		for i := range page.InstanceTypes {
			if info := typeInfo(&page.InstanceTypes[i]); info.Arch != "" {
				out = append(out, info)
			}
		}
	}
	return out, nil
}

func typeInfo(t *types.InstanceTypeInfo) instancetype.Info {
	out := instancetype.Info{Name: string(t.InstanceType), Hypervisor: string(t.Hypervisor), BareMetal: value(t.BareMetal), Enclaves: t.NitroEnclavesSupport == types.NitroEnclavesSupportSupported}
	if p := t.ProcessorInfo; p != nil {
		for _, a := range p.SupportedArchitectures {
			if out.Arch == "" {
				out.Arch = architectures[string(a)]
			}
		}
		out.Maker, out.ClockMHz = strings.ToLower(value(p.Manufacturer)), int64(math.Round(value(p.SustainedClockSpeedInGhz)*1000))
		for _, f := range p.SupportedFeatures {
			out.NestedVirtualization = out.NestedVirtualization || string(f) == "nested-virtualization"
		}
	}
	if v := t.VCpuInfo; v != nil {
		out.VCPUs = int64(value(v.DefaultVCpus))
	}
	if m := t.MemoryInfo; m != nil {
		out.MemoryMiB = value(m.SizeInMiB)
	}
	if e := t.EbsInfo; e != nil && e.EbsOptimizedInfo != nil && e.EbsOptimizedSupport == types.EbsOptimizedSupportDefault {
		out.EBSMbps = int64(value(e.EbsOptimizedInfo.MaximumBandwidthInMbps))
	}
	if s := t.InstanceStorageInfo; s != nil {
		out.StoreGB, out.NVMe = value(s.TotalSizeInGB), s.NvmeSupport != types.EphemeralNvmeSupportUnsupported
	}
	for _, u := range t.SupportedUsageClasses {
		out.Usages = append(out.Usages, string(u))
	}
	if g := t.PlacementGroupInfo; g != nil {
		for _, s := range g.SupportedStrategies {
			out.Strategies = append(out.Strategies, string(s))
		}
	}
	networkInfo(&out, t.NetworkInfo)
	accelerators(&out, t)
	return out
}

func networkInfo(out *instancetype.Info, n *types.NetworkInfo) {
	if n == nil {
		return
	}
	out.DefaultCard, out.IPv4 = int64(value(n.DefaultNetworkCardIndex)), int64(value(n.Ipv4AddressesPerInterface))
	out.EncryptsTransit, out.NoENA = value(n.EncryptionInTransitSupported), n.EnaSupport == types.EnaSupportUnsupported
	out.Cards = make([]int64, len(n.NetworkCards))
	for i, card := range n.NetworkCards {
		if at := int(value(card.NetworkCardIndex)); at < len(out.Cards) {
			out.Cards[at] = int64(value(n.NetworkCards[i].MaximumNetworkInterfaces))
		}
	}
	if n.EfaInfo != nil {
		out.EFAs = int64(value(n.EfaInfo.MaximumEfaInterfaces))
	}
}

func accelerators(out *instancetype.Info, t *types.InstanceTypeInfo) {
	if t.GpuInfo != nil {
		for _, g := range t.GpuInfo.Gpus {
			d := instancetype.Device{Name: value(g.Name), Maker: value(g.Manufacturer), Count: int64(value(g.Count))}
			if value(g.GpuPartitionSize) == 1 { // of fractions there are none that a pod asks for by number
				d.Count = max(d.Count, int64(value(g.LogicalGpuCount)))
			}
			if g.MemoryInfo != nil {
				d.MemoryMiB = int64(value(g.MemoryInfo.SizeInMiB))
			}
			out.GPUs = append(out.GPUs, d)
		}
	}
	if t.NeuronInfo != nil {
		for _, n := range t.NeuronInfo.NeuronDevices {
			d := instancetype.Device{Name: value(n.Name), Maker: "AWS", Count: int64(value(n.Count))}
			if n.CoreInfo != nil {
				d.Cores = int64(value(n.CoreInfo.Count))
			}
			out.Neurons = append(out.Neurons, d)
		}
	}
	if t.InferenceAcceleratorInfo != nil {
		for _, a := range t.InferenceAcceleratorInfo.Accelerators {
			out.Inference = append(out.Inference, instancetype.Device{Name: value(a.Name), Maker: value(a.Manufacturer), Count: int64(value(a.Count))})
		}
	}
}
